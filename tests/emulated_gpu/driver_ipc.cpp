// Memory and events that several processes have.
#include <cuda.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/ipc.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/settings.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::current_context;
using emulated_gpu::Event;
using emulated_gpu::settings;
using emulated_gpu::SharedEvent;
using emulated_gpu::SharedHandle;

// A driver maps whole pages of this size: of smaller allocations their neighbours, too.
constexpr std::size_t kWhole = std::size_t{2} << 20U;

/// Memory of another process, opened so many times.
struct Opened {
  CUdeviceptr address = 0;
  int times = 0;
  std::shared_ptr<SharedEvent> users;
};

struct Registry {
  std::mutex mutex;
  std::map<CUdeviceptr, std::shared_ptr<SharedEvent>> exported;  ///< who counts the users
  std::map<std::pair<std::int64_t, int>, Opened> opened;         ///< by process and file
};

Registry& registry() {
  static auto* const instance = new Registry();
  return *instance;
}

template <class Handle>
Handle pack(const SharedHandle& handle) {
  Handle packed{};
  static_assert(sizeof handle <= sizeof packed);
  std::memcpy(&packed, &handle, sizeof handle);
  return packed;
}

template <class Handle>
SharedHandle unpack(const Handle& packed) {
  SharedHandle handle;
  std::memcpy(static_cast<void*>(&handle), &packed, sizeof handle);
  return handle;
}

/// Whether the thread's context may open what `handle` says.
CUresult check_open(const SharedHandle& handle) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  if (!settings().shares) return CUDA_ERROR_NOT_SUPPORTED;
  if (handle.process == getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  return settings().opens ? CUDA_SUCCESS : CUDA_ERROR_MAP_FAILED;
}

}  // namespace

namespace emulated_gpu {

void check_not_open(CUdeviceptr address) {
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  const auto found = held.exported.find(address);
  if (found == held.exported.end()) return;
  if (found->second->users() > 0) {
    std::fprintf(stderr, "emulated GPU: memory is freed that another process has open\n");
    std::abort();
  }
  held.exported.erase(found);
}

}  // namespace emulated_gpu

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  if (!settings().shares) return CUDA_ERROR_NOT_SUPPORTED;
  std::size_t bytes = 0;
  const int file = emulated_gpu::file_of(address, bytes);
  if (handle == nullptr || file < 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes % kWhole != 0) {
    std::fprintf(stderr,
                 "emulated GPU: %zu bytes are shared, which are no multiple of 2 MiB: others would "
                 "see their neighbours\n",
                 bytes);
    std::abort();
  }
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  std::shared_ptr<SharedEvent>& users = held.exported[address];
  if (users == nullptr) users = emulated_gpu::make_shared_event();
  if (users == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  SharedHandle shared{getpid(), file, 0, bytes, 0, 0};
  shared.user_file = users->handle().file;
  shared.user_index = users->handle().index;
  *handle = pack<CUipcMemHandle>(shared);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr* address, CUipcMemHandle packed, unsigned flags) {
  const SharedHandle handle = unpack(packed);
  if (const CUresult result = check_open(handle); result != CUDA_SUCCESS) return result;
  if (address == nullptr || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  Opened& opened = held.opened[{handle.process, handle.file}];
  if (opened.times == 0) {
    const int file = emulated_gpu::open_file(handle.process, handle.file);
    opened.users = emulated_gpu::open_shared_event(
        {handle.process, handle.user_file, handle.user_index, 0, -1, 0});
    if (file < 0 || opened.users == nullptr) return CUDA_ERROR_MAP_FAILED;
    const CUresult result =
        emulated_gpu::adopt_device(current_context()->device(), file, handle.bytes, opened.address);
    if (result != CUDA_SUCCESS) return result;
  }
  ++opened.times;
  *address = opened.address;
  return CUDA_SUCCESS;
}

/// Waits for all work of the context, which may need it.
CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  current_context()->synchronize(false);
  Registry& held = registry();
  const std::lock_guard lock(held.mutex);
  for (auto& [key, opened] : held.opened) {
    if (opened.times == 0 || opened.address != address) continue;
    if (--opened.times == 0) {
      emulated_gpu::release_adopted(address);
      opened.users = nullptr;
    }
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  if (!settings().shares) return CUDA_ERROR_NOT_SUPPORTED;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto& shared = reinterpret_cast<Event*>(event)->shared;
  if (handle == nullptr || shared == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *handle = pack<CUipcEventHandle>(shared->handle());
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent* event, CUipcEventHandle packed) {
  const SharedHandle handle = unpack(packed);
  if (const CUresult result = check_open(handle); result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto opened = std::make_unique<Event>();
  opened->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  opened->shared = emulated_gpu::open_shared_event(handle);
  if (opened->shared == nullptr) return CUDA_ERROR_MAP_FAILED;
  *event = reinterpret_cast<CUevent>(opened.release());
  return CUDA_SUCCESS;
}

#include "comm/cuda/shared_gpu.h"

#include <algorithm>
#include <bit>
#include <exception>

#include "base/error.h"

namespace meshwork::cuda {
namespace {

// What the driver maps as a whole: smaller allocations would show their neighbours, too.
constexpr std::int64_t kWhole = std::int64_t{2} << 20U;

CUdeviceptr address(const std::byte* place) { return reinterpret_cast<CUdeviceptr>(place); }

/// What others may be at until the process ends.
template <class T>
void keep_for_ever(T things) {
  static auto* const kept = new std::vector<T>();
  kept->push_back(std::move(things));
}

}  // namespace

SharedGpu::SharedGpu(std::shared_ptr<Hosts> hosts, std::shared_ptr<Device> device, const Gpu& gpu)
    : exceptions_(std::uncaught_exceptions()),
      hosts_(std::move(hosts)),
      device_(std::move(device)),
      gpu_(gpu) {}

SharedGpu::~SharedGpu() {
  if (std::uncaught_exceptions() == exceptions_) {
    close_all();
    if (all_have_closed()) return;
  }
  keep_for_ever(std::move(exports_));
  keep_for_ever(std::move(kept_));
}

void SharedGpu::close_all() noexcept {
  try {
    gpu_.make_current();
  } catch (...) {
    return;
  }
  for (const auto& [handle, place] : imports_) {
    static_cast<void>(driver().cuIpcCloseMemHandle(address(place)));
  }
}

bool SharedGpu::all_have_closed() noexcept {
  try {
    hosts_->meet(hosts_->next_call());
    return true;
  } catch (...) {
    return false;
  }
}

std::byte* SharedGpu::add(std::int64_t bytes) {
  Export made;
  made.bytes = std::max<std::int64_t>((bytes + kWhole - 1) / kWhole, 1) * kWhole;
  try {
    made.memory = device_->allocate(made.bytes);
  } catch (const Error&) {
    return nullptr;
  }
  gpu_.make_current();
  CUipcMemHandle handle{};
  if (gpu_.is_shared_by_processes() &&
      driver().cuIpcGetMemHandle(&handle, address(made.memory.get())) == CUDA_SUCCESS) {
    made.handle = std::bit_cast<Handle>(handle);
  }
  exports_.push_back(std::move(made));
  return exports_.back().memory.get();
}

std::shared_ptr<std::byte> SharedGpu::allocate(std::int64_t bytes) {
  std::byte* const memory = add(bytes);
  if (memory == nullptr) return nullptr;
  return {shared_from_this(), memory};
}

std::byte* SharedGpu::allocate_slots(std::size_t bytes) {
  if (bytes > free_slot_bytes_) {
    std::byte* const memory = add(static_cast<std::int64_t>(bytes));
    if (memory == nullptr) return nullptr;
    free_slots_ = memory;
    free_slot_bytes_ = static_cast<std::size_t>(exports_.back().bytes);
  }
  std::byte* const slots = free_slots_;
  free_slots_ += bytes;
  free_slot_bytes_ -= bytes;
  return slots;
}

SharedPlace SharedGpu::find(const void* begin, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(begin);
  for (const Export& one : exports_) {
    const auto start = reinterpret_cast<std::uintptr_t>(one.memory.get());
    if (first < start || first + bytes > start + static_cast<std::uintptr_t>(one.bytes)) continue;
    if (!one.handle) break;
    return {*one.handle, static_cast<std::int64_t>(first - start)};
  }
  return {};
}

std::byte* SharedGpu::open(const SharedPlace& place) {
  if (place.offset < 0) return nullptr;
  std::byte*& memory = imports_[place.memory];
  if (memory == nullptr) {
    gpu_.make_current();
    CUdeviceptr opened = 0;
    const CUresult result = driver().cuIpcOpenMemHandle(
        &opened, std::bit_cast<CUipcMemHandle>(place.memory), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result != CUDA_SUCCESS) {
      imports_.erase(place.memory);
      return nullptr;
    }
    memory = reinterpret_cast<std::byte*>(opened);
  }
  return memory + place.offset;
}

std::unique_ptr<CudaEvent> SharedGpu::make_event(Handle& handle) const {
  std::unique_ptr<CudaEvent> event;
  try {
    event = std::make_unique<CudaEvent>(gpu_, CU_EVENT_INTERPROCESS);
  } catch (const Error&) {
    return nullptr;
  }
  CUipcEventHandle given{};
  if (driver().cuIpcGetEventHandle(&given, event->handle()) != CUDA_SUCCESS) return nullptr;
  handle = std::bit_cast<Handle>(given);
  return event;
}

std::unique_ptr<CudaEvent> SharedGpu::open_event(const Handle& handle) const {
  gpu_.make_current();
  CUevent event = nullptr;
  const CUresult result =
      driver().cuIpcOpenEventHandle(&event, std::bit_cast<CUipcEventHandle>(handle));
  return result == CUDA_SUCCESS ? std::make_unique<CudaEvent>(gpu_, event) : nullptr;
}

}  // namespace meshwork::cuda

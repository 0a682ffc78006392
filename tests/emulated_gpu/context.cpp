#include "emulated_gpu/context.h"

#include <dlfcn.h>

#include <deque>
#include <utility>
#include <vector>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {
namespace {

std::atomic<bool> is_initialized{false};

/// Contexts stay until the process ends: kernels may still run then.
std::deque<Context>& contexts() {
  static auto* const instance = new std::deque<Context>();
  return *instance;
}

/// Kernels find in this library what threads do together.
void publish_symbols() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&publish_symbols), &info) == 0) return;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

}  // namespace

void Context::fail(CUresult result) {
  CUresult none = CUDA_SUCCESS;
  failure_.compare_exchange_strong(none, result);
}

bool Context::release() {
  if (users_ == 0) return false;
  if (--users_ > 0) return true;
  std::map<Stream*, std::shared_ptr<Stream>> streams;
  std::shared_ptr<Stream> unnamed;
  {
    const std::lock_guard lock(mutex_);
    streams.swap(streams_);
    unnamed.swap(unnamed_);
    peers_.clear();
  }
  streams.clear();
  unnamed.reset();
  free_all(device_);
  failure_ = CUDA_SUCCESS;
  return true;
}

bool Context::enable_peer(int device) {
  const std::lock_guard lock(mutex_);
  return peers_.insert(device).second;
}

Stream* Context::create_stream(unsigned flags) {
  auto stream = std::make_shared<Stream>(*this, flags);
  const std::lock_guard lock(mutex_);
  Stream* const result = stream.get();
  streams_[result] = std::move(stream);
  return result;
}

void Context::destroy_stream(Stream* stream) {
  std::shared_ptr<Stream> last;  // it waits for its work, which may need this context
  const std::lock_guard lock(mutex_);
  last.swap(streams_[stream]);
  streams_.erase(stream);
}

Stream* Context::find_stream(CUstream handle) {
  const std::lock_guard lock(mutex_);
  if (is_unnamed(handle)) {
    if (!unnamed_) unnamed_ = std::make_shared<Stream>(*this, CU_STREAM_DEFAULT);
    return unnamed_.get();
  }
  auto* const stream = reinterpret_cast<Stream*>(handle);
  return streams_.count(stream) != 0 ? stream : nullptr;
}

void Context::synchronize(bool blocking_only) {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, stream] : streams_) {
      const bool blocking = (stream->flags() & CU_STREAM_NON_BLOCKING) == 0;
      if (blocking || !blocking_only) streams.push_back(stream);
    }
    if (unnamed_) streams.push_back(unnamed_);
  }
  for (const std::shared_ptr<Stream>& stream : streams) stream->synchronize();
}

bool initialized() { return is_initialized; }

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    publish_symbols();
    for (int i = 0; i < settings().gpus; ++i) contexts().emplace_back(i);
    is_initialized = true;
  });
}

Context* context_of(int device) {
  if (device < 0 || device >= settings().gpus) return nullptr;
  return &contexts()[static_cast<std::size_t>(device)];
}

Context*& current_context() {
  thread_local Context* current = nullptr;
  return current;
}

CUresult check_context() {
  if (!initialized()) return CUDA_ERROR_NOT_INITIALIZED;
  const bool exists = current_context() != nullptr && current_context()->is_alive();
  if (!exists) return CUDA_ERROR_INVALID_CONTEXT;
  return current_context()->failure();
}

bool is_unnamed(CUstream handle) { return handle == nullptr || handle == CU_STREAM_LEGACY; }

CUresult find_stream(CUstream handle, Stream*& stream) {
  const CUresult result = check_context();
  if (current_context() == nullptr || !current_context()->is_alive()) return result;
  stream = current_context()->find_stream(handle);
  for (int i = 0; i < settings().gpus && stream == nullptr; ++i) {
    stream = context_of(i)->find_stream(handle);
  }
  if (result != CUDA_SUCCESS) return result;
  return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : stream->context().failure();
}

CUresult enqueue(CUstream handle, Stream::Work work) {
  Stream* stream = nullptr;
  CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (!is_unnamed(handle)) return submit(*stream, std::move(work));
  Context& context = stream->context();
  result = check_unnamed(context);
  if (result != CUDA_SUCCESS) return result;
  context.synchronize(true);
  stream->enqueue(std::move(work));
  stream->synchronize();
  return CUDA_SUCCESS;
}

}  // namespace emulated_gpu

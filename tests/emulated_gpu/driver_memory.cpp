// Memory and copies.
#include <cuda.h>

#include <algorithm>
#include <cstring>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/ipc.h"
#include "emulated_gpu/memory.h"
#include "emulated_gpu/region.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::current_context;
using emulated_gpu::is_device_memory;

/// A copy between addresses that are known to be good. Who copies from or to pageable memory waits
/// for it.
CUresult copy(void* to, const void* from, std::size_t bytes, CUstream stream, bool wait) {
  const CUresult result = emulated_gpu::enqueue(stream, [to, from, bytes] {
    const emulated_gpu::Access access;
    std::memmove(to, from, bytes);
    return CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS || !wait) return result;
  emulated_gpu::Stream* waiting = nullptr;
  const CUresult found = emulated_gpu::find_stream(stream, waiting);
  if (found != CUDA_SUCCESS) return found;
  const bool captured = emulated_gpu::capture_status(*waiting) != CU_STREAM_CAPTURE_STATUS_NONE;
  if (!captured) waiting->synchronize();
  return waiting->context().failure();
}

/// Whether the thread may call now what might wait for the device.
CUresult check_unsafe() {
  const CUresult result = check_context();
  return result == CUDA_SUCCESS ? emulated_gpu::check_unsafe_call() : result;
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

template <class T>
CUresult fill(CUdeviceptr to, T value, std::size_t count, CUstream stream) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (to % sizeof(T) != 0 || !is_device_memory(to, count * sizeof(T))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return emulated_gpu::enqueue(stream, [to, value, count] {
    const emulated_gpu::Access access;
    std::fill_n(static_cast<T*>(pointer(to)), count, value);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  const CUresult result = check_unsafe();
  if (result != CUDA_SUCCESS) return result;
  if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return emulated_gpu::allocate_device(current_context()->device(), bytes, *address);
}

/// Waits for all work of the context, as the real one may.
CUresult cuMemFree(CUdeviceptr address) {
  if (const CUresult result = check_unsafe(); result != CUDA_SUCCESS) return result;
  current_context()->synchronize(false);
  emulated_gpu::check_not_open(address);
  return emulated_gpu::free_device(address);
}

CUresult cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  const CUresult result = check_unsafe();
  if (result != CUDA_SUCCESS) return result;
  return emulated_gpu::allocate_host(bytes, *address);
}

CUresult cuMemFreeHost(void* address) {
  if (const CUresult result = check_unsafe(); result != CUDA_SUCCESS) return result;
  current_context()->synchronize(false);
  return emulated_gpu::free_host(address);
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (from == nullptr || !is_device_memory(to, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy(pointer(to), from, bytes, stream, !emulated_gpu::is_locked(from));
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (to == nullptr || !is_device_memory(from, bytes)) return CUDA_ERROR_INVALID_VALUE;
  return copy(to, pointer(from), bytes, stream, !emulated_gpu::is_locked(to));
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (bytes == 0) return CUDA_SUCCESS;
  if (!is_device_memory(to, bytes) || !is_device_memory(from, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return copy(pointer(to), pointer(from), bytes, stream, false);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, std::size_t bytes, CUstream stream) {
  if (to_context == nullptr || from_context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return cuMemcpyDtoDAsync(to, from, bytes, stream);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  CUresult result = check_unsafe();
  if (result == CUDA_SUCCESS) result = cuMemcpyHtoDAsync(to, from, bytes, nullptr);
  return result == CUDA_SUCCESS ? current_context()->failure() : result;
}

CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  CUresult result = check_unsafe();
  if (result == CUDA_SUCCESS) result = cuMemcpyDtoHAsync(to, from, bytes, nullptr);
  return result == CUDA_SUCCESS ? current_context()->failure() : result;
}

CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  CUresult result = check_unsafe();
  if (result == CUDA_SUCCESS) result = cuMemcpyDtoDAsync(to, from, bytes, nullptr);
  return result == CUDA_SUCCESS ? current_context()->failure() : result;
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
  if (const CUresult result = check_unsafe(); result != CUDA_SUCCESS) return result;
  return fill(to, value, count, nullptr);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}

CUresult cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) {
  if (const CUresult result = check_unsafe(); result != CUDA_SUCCESS) return result;
  return fill(to, value, count, nullptr);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill(to, value, count, stream);
}

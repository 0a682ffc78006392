// Streams and events.
#include <cuda.h>

#include <chrono>

#include "emulated_gpu/context.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::current_context;
using emulated_gpu::Event;
using emulated_gpu::Mark;
using emulated_gpu::Stream;

/// The stream of a handle, in `stream`; what is wrong with it otherwise.
CUresult find(CUstream handle, Stream*& stream) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  stream = emulated_gpu::find_stream(handle);
  return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : stream->context().failure();
}

Event* from(CUevent event) { return reinterpret_cast<Event*>(event); }

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (stream == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  *stream = reinterpret_cast<CUstream>(current_context()->create_stream(flags));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream handle) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (stream == nullptr) return result;
  if (handle == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->context().destroy_stream(stream);
  return result;
}

CUresult cuStreamSynchronize(CUstream handle) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  stream->synchronize();
  return stream->context().failure();
}

CUresult cuStreamQuery(CUstream handle) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (!stream->idle()) return CUDA_ERROR_NOT_READY;
  return stream->context().failure();
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  stream->wait_for(*from(event));
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (stream != nullptr) *context = reinterpret_cast<CUcontext>(&stream->context());
  return result;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  auto* const created = new Event();
  created->flags = flags;
  *event = reinterpret_cast<CUevent>(created);
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  delete from(event);
  return check_context();
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  Stream* stream = nullptr;
  const CUresult result = find(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->record(*from(event));
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  from(event)->mark->wait_all();
  return current_context()->failure();
}

CUresult cuEventQuery(CUevent event) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return from(event)->mark->done() ? current_context()->failure() : CUDA_ERROR_NOT_READY;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  for (const Event* const event : {from(start), from(end)}) {
    if ((event->flags & CU_EVENT_DISABLE_TIMING) != 0 || event->mark->recorded == 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    if (!event->mark->done()) return CUDA_ERROR_NOT_READY;
  }
  const std::chrono::duration<float, std::milli> elapsed =
      from(end)->mark->time - from(start)->mark->time;
  *milliseconds = elapsed.count();
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return emulated_gpu::enqueue(stream, [function, data] {
    function(data);
    return CUDA_SUCCESS;
  });
}

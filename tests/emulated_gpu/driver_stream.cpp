// Streams and events.
#include <cuda.h>

#include <chrono>
#include <memory>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/ipc.h"
#include "emulated_gpu/region.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::current_context;
using emulated_gpu::Event;
using emulated_gpu::find_stream;
using emulated_gpu::Mark;
using emulated_gpu::Stream;

/// Whether the host may wait for the stream now.
CUresult check_wait(CUstream handle, const Stream& stream) {
  return emulated_gpu::is_unnamed(handle) ? emulated_gpu::check_unnamed(stream.context())
                                          : emulated_gpu::check_not_capturing(stream);
}

Event* from(CUevent event) { return reinterpret_cast<Event*>(event); }

/// Where an event was recorded last, if the host may ask now; nullptr if nowhere.
CUresult find(CUevent event, std::shared_ptr<Mark>& mark) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  return event == nullptr ? CUDA_ERROR_INVALID_HANDLE : emulated_gpu::mark_of(*from(event), mark);
}

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
  const CUresult result = find_stream(handle, stream);
  if (stream == nullptr) return result;  // in a context that has failed, too, it goes
  if (emulated_gpu::is_unnamed(handle)) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult capturing = emulated_gpu::check_not_capturing(*stream);
  if (capturing != CUDA_SUCCESS) return capturing;
  stream->context().destroy_stream(stream);
  return result;
}

CUresult cuStreamSynchronize(CUstream handle) {
  Stream* stream = nullptr;
  CUresult result = find_stream(handle, stream);
  if (result == CUDA_SUCCESS) result = check_wait(handle, *stream);
  if (result != CUDA_SUCCESS) return result;
  if (emulated_gpu::is_unnamed(handle)) {
    stream->context().synchronize(true);
  } else {
    stream->synchronize();
  }
  return stream->context().failure();
}

CUresult cuStreamQuery(CUstream handle) {
  Stream* stream = nullptr;
  CUresult result = find_stream(handle, stream);
  if (result == CUDA_SUCCESS) result = check_wait(handle, *stream);
  if (result != CUDA_SUCCESS) return result;
  if (!stream->idle()) return CUDA_ERROR_NOT_READY;
  emulated_gpu::close_region();
  return stream->context().failure();
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  Stream* stream = nullptr;
  const CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return emulated_gpu::wait_for(*stream, *from(event));
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  Stream* stream = nullptr;
  const CUresult result = find_stream(handle, stream);
  if (stream != nullptr) *context = reinterpret_cast<CUcontext>(&stream->context());
  return result;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  const CUresult result = check_context();
  if (result != CUDA_SUCCESS) return result;
  const bool is_shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  if (is_shared && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  auto created = std::make_unique<Event>();
  created->flags = flags;
  if (is_shared) {
    created->shared = emulated_gpu::make_shared_event();
    if (created->shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *event = reinterpret_cast<CUevent>(created.release());
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy(CUevent event) {
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  delete from(event);
  return check_context();
}

CUresult cuEventRecord(CUevent event, CUstream handle) {
  Stream* stream = nullptr;
  CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (emulated_gpu::is_unnamed(handle)) {
    result = emulated_gpu::check_unnamed(stream->context());
    if (result != CUDA_SUCCESS) return result;
    stream->context().synchronize(true);
  }
  return emulated_gpu::record(*from(event), *stream);
}

CUresult cuEventSynchronize(CUevent event) {
  std::shared_ptr<Mark> mark;
  const CUresult result = find(event, mark);
  if (result != CUDA_SUCCESS) return result;
  while (mark != nullptr && current_context()->failure() == CUDA_SUCCESS) {
    if (mark->wait_a_little()) break;
  }
  emulated_gpu::close_region();
  return current_context()->failure();
}

CUresult cuEventQuery(CUevent event) {
  std::shared_ptr<Mark> mark;
  const CUresult result = find(event, mark);
  if (result != CUDA_SUCCESS) return result;
  if (mark != nullptr && !mark->is_reached()) return CUDA_ERROR_NOT_READY;
  emulated_gpu::close_region();
  return current_context()->failure();
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  std::shared_ptr<Mark> first;
  std::shared_ptr<Mark> last;
  CUresult result = find(start, first);
  if (result == CUDA_SUCCESS) result = find(end, last);
  if (result != CUDA_SUCCESS) return result;
  const unsigned flags = from(start)->flags | from(end)->flags;
  const bool timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  if (!timed || first == nullptr || last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!first->is_reached() || !last->is_reached()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(last->time() - first->time()).count();
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

#include "emulated_gpu/capture.h"

#include <memory>
#include <utility>

#include "emulated_gpu/context.h"
#include "emulated_gpu/ipc.h"

namespace emulated_gpu {

/// A capture under way, or what is left of it in events.
struct Capture {
  Graph graph;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  Stream* origin = nullptr;
  std::set<Stream*> streams;
  bool valid = true;
  bool ended = false;

  void end() {
    ended = true;
    for (Stream* const stream : streams) stream->position = {};
    streams.clear();
  }
};

namespace {

// Captures are few: one lock guards them, and where streams and events stand in them.
std::mutex& mutex() {
  static auto* const instance = new std::mutex();
  return *instance;
}

std::set<std::shared_ptr<Capture>>& captures() {
  static auto* const instance = new std::set<std::shared_ptr<Capture>>();
  return *instance;
}

CUresult spoil(Capture& capture, CUresult result) {
  capture.valid = false;
  return result;
}

/// Spoils all captures that `is_concerned` picks.
template <class Predicate>
CUresult spoil_those(const Predicate& is_concerned, CUresult result) {
  CUresult found = CUDA_SUCCESS;
  for (const std::shared_ptr<Capture>& capture : captures()) {
    if (is_concerned(*capture)) found = spoil(*capture, result);
  }
  return found;
}

template <class Predicate>
bool has_stream(const Capture& capture, const Predicate& is_concerned) {
  for (const Stream* const stream : capture.streams) {
    if (is_concerned(*stream)) return true;
  }
  return false;
}

CUresult join(Stream& stream, const CapturePosition& position) {
  Capture& capture = *position.capture;
  if (capture.ended) return CUDA_ERROR_CAPTURED_EVENT;
  if (stream.position.capture != nullptr && stream.position.capture != position.capture) {
    spoil(*stream.position.capture, CUDA_SUCCESS);
    return spoil(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  if (!capture.valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  stream.position.capture = position.capture;
  stream.position.last.insert(position.last.begin(), position.last.end());
  capture.streams.insert(&stream);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult submit(Stream& stream, Stream::Work work) {
  {
    const std::lock_guard lock(mutex());
    if (Capture* const capture = stream.position.capture.get(); capture != nullptr) {
      if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      capture->graph.nodes.push_back({std::move(work), stream.position.last});
      stream.position.last = {static_cast<int>(capture->graph.nodes.size()) - 1};
      return CUDA_SUCCESS;
    }
  }
  stream.enqueue(std::move(work));
  return CUDA_SUCCESS;
}

CUresult record(Event& event, Stream& stream) {
  const std::lock_guard lock(mutex());
  event.position = stream.position;
  if (event.position.capture == nullptr) {
    event.mark = event.shared ? event.shared->record() : std::make_shared<Mark>();
    stream.record(event.mark);
    return CUDA_SUCCESS;
  }
  return event.position.capture->valid ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CUresult wait_for(Stream& stream, const Event& event) {
  const std::lock_guard lock(mutex());
  if (event.position.capture != nullptr) return join(stream, event.position);
  std::shared_ptr<Mark> mark = event.shared ? event.shared->last() : event.mark;
  if (mark == nullptr) return CUDA_SUCCESS;
  if (stream.position.capture == nullptr) {
    stream.wait_for(std::move(mark));
    return CUDA_SUCCESS;
  }
  return spoil(*stream.position.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
}

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode) {
  const std::lock_guard lock(mutex());
  if (stream.position.capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = &stream;
  capture->streams = {&stream};
  captures().insert(capture);
  stream.position = {std::move(capture), {}};
  return CUDA_SUCCESS;
}

CUresult end_capture(Stream& stream, Graph*& graph) {
  graph = nullptr;
  const std::lock_guard lock(mutex());
  const std::shared_ptr<Capture> capture = stream.position.capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != &stream) return spoil(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id()) {
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  }
  const bool joined = capture->graph.all_before(stream.position.last);
  capture->end();
  captures().erase(capture);
  if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  graph = new Graph(std::move(capture->graph));
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus capture_status(const Stream& stream) {
  const std::lock_guard lock(mutex());
  if (stream.position.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.position.capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                        : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUresult check_not_capturing(const Stream& stream) {
  const std::lock_guard lock(mutex());
  if (stream.position.capture == nullptr) return CUDA_SUCCESS;
  return spoil(*stream.position.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult mark_of(const Event& event, std::shared_ptr<Mark>& mark) {
  const std::lock_guard lock(mutex());
  mark = event.shared ? event.shared->last() : event.mark;
  if (event.position.capture == nullptr) return CUDA_SUCCESS;
  return spoil(*event.position.capture, CUDA_ERROR_CAPTURED_EVENT);
}

CUresult check_none_capturing(const Context& context) {
  const std::lock_guard lock(mutex());
  const auto is_inside = [&](const Stream& stream) { return &stream.context() == &context; };
  return spoil_those([&](const Capture& capture) { return has_stream(capture, is_inside); },
                     CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUresult check_unnamed(const Context& context) {
  const std::lock_guard lock(mutex());
  const auto is_blocking = [&](const Stream& stream) {
    return &stream.context() == &context && (stream.flags() & CU_STREAM_NON_BLOCKING) == 0;
  };
  return spoil_those([&](const Capture& capture) { return has_stream(capture, is_blocking); },
                     CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
}

CUresult check_unsafe_call() {
  const CUstreamCaptureMode strictness = thread_capture_mode();
  if (strictness == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const std::lock_guard lock(mutex());
  const auto forbids = [&](const Capture& capture) {
    if (capture.thread == std::this_thread::get_id()) {
      return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    }
    return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           strictness == CU_STREAM_CAPTURE_MODE_GLOBAL;
  };
  return spoil_those(forbids, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

CUstreamCaptureMode& thread_capture_mode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

}  // namespace emulated_gpu

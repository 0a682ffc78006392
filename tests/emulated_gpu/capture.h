#pragma once

#include <cuda.h>

#include "emulated_gpu/graph.h"
#include "emulated_gpu/stream.h"

namespace emulated_gpu {

class Context;

// What happens on a stream goes through here: it is recorded where the stream captures, and
// enqueued otherwise. What a capture forbids is an error, and the capture is worth nothing then.

CUresult submit(Stream& stream, Stream::Work work);
CUresult record(Event& event, Stream& stream);
/// A stream that does not capture joins the capture that the event stands in.
CUresult wait_for(Stream& stream, const Event& event);

CUresult begin_capture(Stream& stream, CUstreamCaptureMode mode);
/// The graph of a capture that began on this stream and this thread, if all that it holds comes
/// before where the stream stands now.
CUresult end_capture(Stream& stream, Graph*& graph);
CUstreamCaptureStatus capture_status(const Stream& stream);

/// Before the host waits for a stream, asks how far it is or destroys it.
CUresult check_not_capturing(const Stream& stream);
/// Where an event was recorded last, for the host to wait or ask how far it is; nullptr if nowhere.
CUresult mark_of(const Event& event, std::shared_ptr<Mark>& mark);
/// Before the host waits for a whole context.
CUresult check_none_capturing(const Context& context);
/// Before work on the stream without a name, which waits for all blocking streams.
CUresult check_unnamed(const Context& context);
/// Before calls like cuMemAlloc, which might wait for the device.
CUresult check_unsafe_call();
/// How strict `check_unsafe_call` is with this thread.
CUstreamCaptureMode& thread_capture_mode();

}  // namespace emulated_gpu

// Captures and graphs.
#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "emulated_gpu/capture.h"
#include "emulated_gpu/context.h"
#include "emulated_gpu/graph.h"
#include "emulated_gpu/settings.h"

namespace {

using emulated_gpu::check_context;
using emulated_gpu::ExecutableGraph;
using emulated_gpu::find_stream;
using emulated_gpu::Graph;
using emulated_gpu::Stream;

/// Work that is enqueued outlives the handle.
struct Executable {
  std::shared_ptr<ExecutableGraph> graph;
};

Graph* from(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }
Executable* from(CUgraphExec graph) { return reinterpret_cast<Executable*>(graph); }

}  // namespace

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  Stream* stream = nullptr;
  const CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (emulated_gpu::is_unnamed(handle)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  return emulated_gpu::begin_capture(*stream, mode);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  Stream* stream = nullptr;
  CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Graph* captured = nullptr;
  result = emulated_gpu::end_capture(*stream, captured);
  *graph = reinterpret_cast<CUgraph>(captured);
  return result;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  Stream* stream = nullptr;
  const CUresult result = find_stream(handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *status = emulated_gpu::capture_status(*stream);
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, emulated_gpu::thread_capture_mode());
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  if (graph == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodes != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *count = from(graph)->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  if (executable == nullptr || graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  static std::atomic<std::int64_t> made{0};
  const std::int64_t most = emulated_gpu::settings().graphs;
  if (most >= 0 && ++made > most) return CUDA_ERROR_OUT_OF_MEMORY;
  *executable = reinterpret_cast<CUgraphExec>(
      new Executable{std::make_shared<ExecutableGraph>(*from(graph))});
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec executable, CUstream handle) {
  Stream* stream = nullptr;
  const CUresult result = find_stream(handle, stream);
  return result == CUDA_SUCCESS && executable == nullptr ? CUDA_ERROR_INVALID_VALUE : result;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (const CUresult result = check_context(); result != CUDA_SUCCESS) return result;
  if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return emulated_gpu::enqueue(stream, [graph = from(executable)->graph] { return graph->run(); });
}

CUresult cuGraphDestroy(CUgraph graph) {
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  delete from(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  if (executable == nullptr) return CUDA_ERROR_INVALID_VALUE;
  delete from(executable);
  return CUDA_SUCCESS;
}

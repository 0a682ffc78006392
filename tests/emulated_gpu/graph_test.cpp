#include <tuple>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

/// A kernel that appends a digit: y = 10 * y + digit.
CUfunction digits() {
  return kernel(compile("KERNEL(append, long long* y, int digit) { *y = 10 * *y + digit; }"),
                "append");
}

void begin(CUstream stream) {
  REQUIRE(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
          CUDA_SUCCESS);
}

CUresult end(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = DRIVER(cuStreamEndCapture)(stream, &graph);
  CHECK((graph != nullptr) == (result == CUDA_SUCCESS));
  if (graph != nullptr) CHECK(DRIVER(cuGraphDestroy)(graph) == CUDA_SUCCESS);
  return result;
}

CUgraphExec instantiate(CUstream stream, std::size_t nodes) {
  CUgraph graph = nullptr;
  REQUIRE(DRIVER(cuStreamEndCapture)(stream, &graph) == CUDA_SUCCESS);
  std::size_t count = 0;
  CHECK(DRIVER(cuGraphGetNodes)(graph, nullptr, &count) == CUDA_SUCCESS);
  CHECK(count == nodes);
  CUgraphExec executable = nullptr;
  REQUIRE(DRIVER(cuGraphInstantiate)(&executable, graph, 0) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuGraphDestroy)(graph) == CUDA_SUCCESS);
  at_end([destroy = &DRIVER(cuGraphExecDestroy), executable] { destroy(executable); });
  return executable;
}

void record_and_wait(CUevent event, CUstream from, CUstream to) {
  REQUIRE(DRIVER(cuEventRecord)(event, from) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamWaitEvent)(to, event, 0) == CUDA_SUCCESS);
}

TEST_CASE("a graph does what was captured, as often as it is launched") {
  start();
  const CUfunction append = digits();
  const Array<long long> y(std::vector<long long>{0});
  const CUstream stream = create_stream();
  begin(stream);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK(DRIVER(cuStreamIsCapturing)(stream, &status) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(launch(append, {1}, {1}, stream, y.address(), i) == CUDA_SUCCESS);
  }
  const CUgraphExec graph = instantiate(stream, 3);
  CHECK(y.values() == std::vector<long long>{0});
  REQUIRE(DRIVER(cuGraphLaunch)(graph, stream) == CUDA_SUCCESS);
  REQUIRE(launch(append, {1}, {1}, stream, y.address(), 9) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuGraphLaunch)(graph, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<long long>{1239123});
}

TEST_CASE("a graph keeps the order of events and no other") {
  start();
  const CUfunction append = digits();
  const Array<long long> left(std::vector<long long>{0});
  const Array<long long> right(std::vector<long long>{0});
  const Array<long long> order(std::vector<long long>{0});
  const CUstream stream = create_stream();
  const CUstream other = create_stream();
  const CUevent event = create_event();
  begin(stream);
  REQUIRE(launch(append, {1}, {1}, stream, left.address(), 1) == CUDA_SUCCESS);
  REQUIRE(launch(append, {1}, {1}, stream, right.address(), 1) == CUDA_SUCCESS);
  record_and_wait(event, stream, other);
  for (const auto& [where, y, digit] :
       {std::tuple(stream, left.address(), 2), std::tuple(other, right.address(), 3)}) {
    REQUIRE(launch(append, {1}, {1}, where, y, digit) == CUDA_SUCCESS);
    REQUIRE(launch(append, {1}, {1}, where, order.address(), digit) == CUDA_SUCCESS);
  }
  record_and_wait(event, other, stream);
  REQUIRE(launch(append, {1}, {1}, stream, left.address(), 4) == CUDA_SUCCESS);
  REQUIRE(launch(append, {1}, {1}, stream, right.address(), 4) == CUDA_SUCCESS);
  const CUgraphExec graph = instantiate(stream, 8);
  bool orders[2] = {false, false};
  for (int i = 0; i < 40; ++i) {
    for (const Array<long long>* const y : {&left, &right, &order}) {
      REQUIRE(DRIVER(cuMemsetD32Async)(y->address(), 0, 2, stream) == CUDA_SUCCESS);
    }
    REQUIRE(DRIVER(cuGraphLaunch)(graph, stream) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
    CHECK(left.values() == std::vector<long long>{124});
    CHECK(right.values() == std::vector<long long>{134});
    orders[order.values()[0] == 23 ? 0 : 1] = true;
  }
  CHECK(orders[0]);
  CHECK(orders[1]);
}

TEST_CASE("a capture must join what it has forked") {
  start();
  const CUfunction append = digits();
  const Array<long long> y(std::vector<long long>{0});
  const CUstream stream = create_stream();
  const CUstream other = create_stream();
  const CUevent event = create_event();
  begin(stream);
  record_and_wait(event, stream, other);
  REQUIRE(launch(append, {1}, {1}, other, y.address(), 1) == CUDA_SUCCESS);
  CHECK(end(other) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream);
  record_and_wait(event, stream, other);
  REQUIRE(launch(append, {1}, {1}, other, y.address(), 1) == CUDA_SUCCESS);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  REQUIRE(launch(append, {1}, {1}, other, y.address(), 2) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamSynchronize)(other) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<long long>{2});
}

TEST_CASE("a capture forbids what cannot be recorded") {
  start();
  const CUstream stream = create_stream();
  const CUstream other = create_stream();
  const CUevent captured = create_event();
  const CUevent outside = create_event();
  REQUIRE(DRIVER(cuEventRecord)(outside, other) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  REQUIRE(DRIVER(cuMemAlloc)(&address, 4) == CUDA_SUCCESS);

  const auto forbidden = [&](CUresult expected, const auto& call) {
    begin(stream);
    REQUIRE(DRIVER(cuEventRecord)(captured, stream) == CUDA_SUCCESS);
    CHECK(call() == expected);
    CHECK(DRIVER(cuEventRecord)(captured, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  const CUresult unsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  forbidden(unsupported, [&] { return DRIVER(cuStreamSynchronize)(stream); });
  forbidden(unsupported, [&] { return DRIVER(cuStreamQuery)(stream); });
  forbidden(unsupported, [&] { return DRIVER(cuCtxSynchronize)(); });
  forbidden(unsupported, [&] {
    CUdeviceptr more = 0;
    return DRIVER(cuMemAlloc)(&more, 4);
  });
  forbidden(unsupported, [&] { return DRIVER(cuMemFree)(address); });
  forbidden(CUDA_ERROR_CAPTURED_EVENT, [&] { return DRIVER(cuEventSynchronize)(captured); });
  forbidden(CUDA_ERROR_CAPTURED_EVENT, [&] { return DRIVER(cuEventQuery)(captured); });
  forbidden(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            [&] { return DRIVER(cuStreamWaitEvent)(stream, outside, 0); });
  forbidden(CUDA_ERROR_STREAM_CAPTURE_MERGE, [&] {
    begin(other);
    const CUresult result = DRIVER(cuStreamWaitEvent)(other, captured, 0);
    CHECK(end(other) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    return result;
  });
  CHECK(end(stream) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(DRIVER(cuMemFree)(address) == CUDA_SUCCESS);
}

TEST_CASE("a relaxed capture allows to allocate") {
  start();
  const CUstream stream = create_stream();
  REQUIRE(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(DRIVER(cuMemAlloc)(&address, 4) == CUDA_SUCCESS);
  CHECK(end(stream) == CUDA_SUCCESS);
  CHECK(DRIVER(cuMemFree)(address) == CUDA_SUCCESS);
}

}  // namespace
}  // namespace emulated_gpu::testing

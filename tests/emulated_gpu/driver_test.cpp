#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

/// Page-locked memory of the host.
struct Locked {
  explicit Locked(std::size_t bytes) {
    REQUIRE(DRIVER(cuMemHostAlloc)(&data, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS);
  }
  ~Locked() { DRIVER(cuMemFreeHost)(data); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  int* ints() const { return static_cast<int*>(data); }
  void* data = nullptr;
};

TEST_CASE("devices tell what they are") {
  start();
  int version = 0;
  CHECK(DRIVER(cuDriverGetVersion)(&version) == CUDA_SUCCESS);
  CHECK(version >= 13000);
  char name[64];
  CHECK(DRIVER(cuDeviceGetName)(name, sizeof name, 0) == CUDA_SUCCESS);
  CHECK(std::strcmp(name, "Emulated GPU") == 0);
  int count = 0;
  REQUIRE(DRIVER(cuDeviceGetCount)(&count) == CUDA_SUCCESS);
  CUdevice device = 0;
  CHECK(DRIVER(cuDeviceGet)(&device, count) == CUDA_ERROR_INVALID_DEVICE);
  int value = 0;
  CHECK(DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_SUCCESS);
  CHECK(value == 32);
  const char* text = nullptr;
  CHECK(DRIVER(cuGetErrorName)(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(DRIVER(cuGetErrorString)(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "out of memory");
}

TEST_CASE("a thread without a context can do nothing") {
  start();
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    CUdeviceptr address = 0;
    result = DRIVER(cuMemAlloc)(&address, 4);
  }).join();
  CHECK(result == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("memory runs out, and comes back") {
  start();
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(DRIVER(cuMemGetInfo)(&free, &total) == CUDA_SUCCESS);
  CUdeviceptr much = 0;
  CHECK(DRIVER(cuMemAlloc)(&much, total + 1) == CUDA_ERROR_OUT_OF_MEMORY);
  REQUIRE(DRIVER(cuMemAlloc)(&much, free - 1024) == CUDA_SUCCESS);
  CUdeviceptr more = 0;
  CHECK(DRIVER(cuMemAlloc)(&more, 4096) == CUDA_ERROR_OUT_OF_MEMORY);
  int last = 0;
  CHECK(DRIVER(cuMemcpyDtoH)(&last, much + free - 1024 - 4, 4) == CUDA_SUCCESS);
  CHECK(last == int(0xCDCDCDCD));
  CHECK(DRIVER(cuMemFree)(much) == CUDA_SUCCESS);
  CHECK(DRIVER(cuMemFree)(much) == CUDA_ERROR_INVALID_VALUE);
  std::size_t after = 0;
  REQUIRE(DRIVER(cuMemGetInfo)(&after, &total) == CUDA_SUCCESS);
  CHECK(after == free);
  CHECK(DRIVER(cuMemAlloc)(&much, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("copies go there and back") {
  start();
  const CUstream stream = create_stream();
  const Locked from(400);
  const Locked to(400);
  std::iota(from.ints(), from.ints() + 100, 7);
  const Array<int> first(100);
  const Array<int> second(100);
  REQUIRE(DRIVER(cuMemcpyHtoDAsync)(first.address(), from.data, 400, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemcpyDtoDAsync)(second.address(), first.address(), 400, stream) ==
          CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemsetD32Async)(second.address() + 40, 5, 10, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemsetD8Async)(second.address() + 80, 1, 4, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemcpyDtoHAsync)(to.data, second.address(), 400, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  for (int i = 0; i < 100; ++i) {
    const int expected = i == 20 ? 0x01010101 : i >= 10 && i < 20 ? 5 : i + 7;
    CHECK(to.ints()[i] == expected);
  }
  CHECK(DRIVER(cuMemcpyHtoDAsync)(first.address() + 4, from.data, 400, stream) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(DRIVER(cuMemcpyDtoDAsync)(first.address(), second.address() + 4, 400, stream) ==
        CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("copies go from device to device") {
  int count = 0;
  start(0);
  REQUIRE(DRIVER(cuDeviceGetCount)(&count) == CUDA_SUCCESS);
  REQUIRE_MESSAGE(count >= 2, "EMULATED_GPUS=2 is missing");
  const Array<int> from(std::vector<int>{1, 2, 3});
  CUcontext first = nullptr;
  REQUIRE(DRIVER(cuCtxGetCurrent)(&first) == CUDA_SUCCESS);
  start(1);
  CUcontext second = nullptr;
  REQUIRE(DRIVER(cuCtxGetCurrent)(&second) == CUDA_SUCCESS);
  CHECK(first != second);
  const Array<int> to(3);
  const CUstream stream = create_stream();
  REQUIRE(DRIVER(cuMemcpyPeerAsync)(to.address(), second, from.address(), first, 12, stream) ==
          CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(to.values() == std::vector<int>{1, 2, 3});
  start(0);
  const CUmodule module = compile("KERNEL(nothing, int n) {}");
  CHECK(launch(kernel(module, "nothing"), {1}, {1}, stream, 1) == CUDA_ERROR_INVALID_HANDLE);
}

/// Many pieces of work on two streams that events alone order: y = y * 3 + i by turns.
TEST_CASE("events order streams") {
  start();
  const CUmodule module = compile("KERNEL(step, unsigned* y, unsigned i) { *y = *y * 3 + i; }");
  const CUfunction step = kernel(module, "step");
  const Array<unsigned> y(std::vector<unsigned>{1});
  const CUstream streams[] = {create_stream(), create_stream()};
  const CUevent events[] = {create_event(), create_event()};
  unsigned expected = 1;
  for (unsigned i = 0; i < 200; ++i) {
    REQUIRE(launch(step, {1}, {1}, streams[i % 2], y.address(), i) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuEventRecord)(events[i % 2], streams[i % 2]) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuStreamWaitEvent)(streams[1 - i % 2], events[i % 2], 0) == CUDA_SUCCESS);
    expected = expected * 3 + i;
  }
  REQUIRE(DRIVER(cuEventSynchronize)(events[1]) == CUDA_SUCCESS);
  CHECK(DRIVER(cuEventQuery)(events[1]) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<unsigned>{expected});
}

TEST_CASE("an event that is recorded anew leaves those who wait for the old place") {
  start();
  const CUmodule module = compile("KERNEL(store, int* y, int value) { *y = value; }");
  const CUfunction store = kernel(module, "store");
  const Array<int> y(std::vector<int>{0});
  const CUstream slow = create_stream();
  const CUstream fast = create_stream();
  const CUstream waiting = create_stream();
  const CUevent event = create_event();
  std::atomic<bool> go{false};
  const CUhostFn wait = [](void* data) {
    while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
  };
  REQUIRE(DRIVER(cuLaunchHostFunc)(slow, wait, &go) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuEventRecord)(event, slow) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamWaitEvent)(waiting, event, 0) == CUDA_SUCCESS);
  REQUIRE(launch(store, {1}, {1}, waiting, y.address(), 1) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuEventRecord)(event, fast) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuEventSynchronize)(event) == CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(y.values() == std::vector<int>{0});
  go = true;
  REQUIRE(DRIVER(cuStreamSynchronize)(waiting) == CUDA_SUCCESS);
  CHECK(y.values() == std::vector<int>{1});
}

TEST_CASE("the last user of a context takes it down") {
  start(1);
  CUdeviceptr address = 0;
  REQUIRE(DRIVER(cuMemAlloc)(&address, 1024) == CUDA_SUCCESS);
  create_stream();
  int users = 0;
  while (DRIVER(cuDevicePrimaryCtxRelease)(1) == CUDA_SUCCESS) ++users;
  CHECK(users > 0);
  CHECK(DRIVER(cuMemAlloc)(&address, 1024) == CUDA_ERROR_INVALID_CONTEXT);
  start(1);
  std::size_t free = 0;
  std::size_t total = 0;
  REQUIRE(DRIVER(cuMemGetInfo)(&free, &total) == CUDA_SUCCESS);
  CHECK(free == total);
}

TEST_CASE("streams run on while the host does not wait") {
  start();
  const CUstream stream = create_stream();
  const CUevent before = create_event(CU_EVENT_DEFAULT);
  const CUevent after = create_event(CU_EVENT_DEFAULT);
  std::atomic<bool> go{false};
  std::atomic<bool> done{false};
  struct Flags {
    std::atomic<bool>*go, *done;
  } flags{&go, &done};
  const CUhostFn wait = [](void* data) {
    const auto& held = *static_cast<Flags*>(data);
    while (!*held.go) std::this_thread::yield();
    *held.done = true;
  };
  REQUIRE(DRIVER(cuEventRecord)(before, stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuLaunchHostFunc)(stream, wait, &flags) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuEventRecord)(after, stream) == CUDA_SUCCESS);
  CHECK(DRIVER(cuStreamQuery)(stream) == CUDA_ERROR_NOT_READY);
  CHECK(DRIVER(cuEventQuery)(after) == CUDA_ERROR_NOT_READY);
  float milliseconds = -1.0F;
  CHECK(DRIVER(cuEventElapsedTime)(&milliseconds, before, after) == CUDA_ERROR_NOT_READY);
  go = true;
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(done);
  CHECK(DRIVER(cuStreamQuery)(stream) == CUDA_SUCCESS);
  CHECK(DRIVER(cuEventElapsedTime)(&milliseconds, before, after) == CUDA_SUCCESS);
  CHECK(milliseconds >= 0.0F);
  const CUevent untimed = create_event();
  CHECK(DRIVER(cuEventElapsedTime)(&milliseconds, before, untimed) == CUDA_ERROR_INVALID_HANDLE);
}

/// Copies a number in, adds to it by turns on two streams, copies it out; again and again.
int count_up(int device, const std::vector<char>& image) {
  start(device);
  CUmodule module = nullptr;
  REQUIRE(DRIVER(cuModuleLoadData)(&module, image.data()) == CUDA_SUCCESS);
  const CUfunction add = kernel(module, "add");
  const CUstream streams[] = {create_stream(), create_stream()};
  const CUevent event = create_event();
  const Locked number(sizeof(int));
  number.ints()[0] = 0;
  for (int round = 0; round < 30; ++round) {
    const Array<int> y(1);
    REQUIRE(DRIVER(cuMemcpyHtoDAsync)(y.address(), number.data, 4, streams[0]) == CUDA_SUCCESS);
    for (int i = 0; i < 4; ++i) {
      REQUIRE(launch(add, {1}, {32}, streams[i % 2], y.address()) == CUDA_SUCCESS);
      REQUIRE(DRIVER(cuEventRecord)(event, streams[i % 2]) == CUDA_SUCCESS);
      REQUIRE(DRIVER(cuStreamWaitEvent)(streams[1 - i % 2], event, 0) == CUDA_SUCCESS);
    }
    REQUIRE(DRIVER(cuMemcpyDtoHAsync)(number.data, y.address(), 4, streams[0]) == CUDA_SUCCESS);
    REQUIRE(DRIVER(cuStreamSynchronize)(streams[0]) == CUDA_SUCCESS);
  }
  const int result = number.ints()[0];
  REQUIRE(DRIVER(cuModuleUnload)(module) == CUDA_SUCCESS);
  return result;
}

TEST_CASE("threads of the host work at once, on devices of their own or the same") {
  start(1);
  start(0);
  const std::vector<char> image =
      cubin_of("KERNEL(add, int* y) { __syncthreads(); atomicAdd(y, 1); __syncthreads(); }");
  int results[4] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { results[i] = count_up(i % 2, image); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int result : results) CHECK(result == 30 * 4 * 32);
}

}  // namespace
}  // namespace emulated_gpu::testing

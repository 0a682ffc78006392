// What ends a context or a process: each in a process of its own.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <vector>

#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

void run_kernel(const std::string& body, CUdeviceptr address) {
  const CUmodule module = compile("KERNEL(test, int* y) {" + body + "}");
  REQUIRE(launch(kernel(module, "test"), {1}, {64}, nullptr, address) == CUDA_SUCCESS);
}

bool says(const Run& run, const std::string& text) {
  return run.output.find(text) != std::string::npos;
}

#define CHECK_SAYS(run, text) \
  CHECK_FALSE((run).passed);  \
  CHECK_MESSAGE(says(run, text), (run).output)

TEST_CASE("alone: a launch fails" * doctest::skip()) {
  start();
  const CUmodule module = compile("KERNEL(store, int* y, int value) { *y = value; }");
  const CUfunction store = kernel(module, "store");
  const CUstream stream = create_stream();
  const CUevent event = create_event();
  CUdeviceptr y = 0;
  REQUIRE(DRIVER(cuMemAlloc)(&y, sizeof(int)) == CUDA_SUCCESS);
  void* copy = nullptr;
  REQUIRE(DRIVER(cuMemHostAlloc)(&copy, sizeof(int), 0) == CUDA_SUCCESS);
  REQUIRE(launch(store, {1}, {1}, stream, y, 1) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuMemcpyDtoHAsync)(copy, y, sizeof(int), stream) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuStreamSynchronize)(stream) == CUDA_SUCCESS);
  CHECK(*static_cast<int*>(copy) == 1);
  CHECK(launch(store, {1}, {1}, stream, y, 2) == CUDA_SUCCESS);  // told later
  CHECK(DRIVER(cuStreamSynchronize)(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(DRIVER(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(DRIVER(cuEventRecord)(event, stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(DRIVER(cuMemcpyDtoHAsync)(copy, y, sizeof(int), stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(launch(store, {1}, {1}, stream, y, 3) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(DRIVER(cuMemFree)(y) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(*static_cast<int*>(copy) == 1);
}
TEST_CASE("a launch that fails is told where the host waits, and from then on") {
  const Run run = run_alone("alone: a launch fails", "EMULATED_GPU_FAIL_LAUNCH=2");
  CHECK_MESSAGE(run.passed, run.output);
}

TEST_CASE("alone: a kernel traps" * doctest::skip()) {
  start();
  const Array<int> y(1);
  const CUmodule module = compile(
      "KERNEL(test, int* y) { __syncthreads(); if (threadIdx.x == 9) __trap(); "
      "__syncthreads(); }");
  REQUIRE(launch(kernel(module, "test"), {1}, {64}, nullptr, y.address()) == CUDA_SUCCESS);
  CHECK(DRIVER(cuCtxSynchronize)() == CUDA_ERROR_LAUNCH_FAILED);
}
TEST_CASE("a trap fails the context") {
  const Run run = run_alone("alone: a kernel traps");
  CHECK_MESSAGE(run.passed, run.output);
}

TEST_CASE("alone: a barrier in one branch" * doctest::skip()) {
  start();
  const Array<int> y(1);
  run_kernel("if (threadIdx.x < 7) __syncthreads(); else if (threadIdx.x < 32) __syncwarp();",
             y.address());
}
TEST_CASE("threads that wait for ever end the process") {
  const Run run = run_alone("alone: a barrier in one branch");
  CHECK_SAYS(run, "block (0, 0, 0) of kernel test wait for ever, for no other");
  CHECK_SAYS(run, "7 wait at a barrier and 25 for lanes");
}

TEST_CASE("alone: a kernel writes behind an allocation" * doctest::skip()) {
  start();
  const Array<int> y(64);
  run_kernel("y[threadIdx.x + 1] = 1;", y.address());
}
TEST_CASE("a kernel that writes behind an allocation ends the process") {
  CHECK_SAYS(run_alone("alone: a kernel writes behind an allocation"),
             "thread (63, 0, 0) of block (0, 0, 0) of kernel test touched");
}

TEST_CASE("alone: a kernel writes two numbers at once where one begins" * doctest::skip()) {
  start();
  const Array<int> y(64);
  run_kernel("struct alignas(8) Two { int at[2]; }; *(Two*)(y + threadIdx.x / 32) = Two{{1, 2}};",
             y.address());
}
TEST_CASE("a kernel that writes where a pack of numbers cannot begin ends the process") {
  CHECK_SAYS(run_alone("alone: a kernel writes two numbers at once where one begins"),
             "of kernel test touched numbers that cannot begin there");
}

TEST_CASE("alone: a kernel writes a little behind an allocation" * doctest::skip()) {
  start();
  const Array<int> y(63);
  run_kernel("y[threadIdx.x] = 1;", y.address());
}
TEST_CASE("a kernel that writes a little behind an allocation is found out") {
  CHECK_SAYS(run_alone("alone: a kernel writes a little behind an allocation"),
             "wrote 0 bytes behind an allocation of 252");
}

TEST_CASE("alone: the host reads the device" * doctest::skip()) {
  start();
  const Array<int> y(std::vector<int>(64, 1));
  CHECK(*reinterpret_cast<const volatile int*>(y.address()) == 1);
}
TEST_CASE("a host that touches memory of the device ends the process") {
  CHECK_SAYS(run_alone("alone: the host reads the device"), "the host touched device memory");
}

TEST_CASE("alone: an old driver" * doctest::skip()) {
  int version = 0;
  REQUIRE(DRIVER(cuDriverGetVersion)(&version) == CUDA_SUCCESS);
  CHECK(version == 11040);
  start(2);
  int major = 0;
  REQUIRE(DRIVER(cuDeviceGetAttribute)(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2) ==
          CUDA_SUCCESS);
  int minor = 0;
  REQUIRE(DRIVER(cuDeviceGetAttribute)(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 2) ==
          CUDA_SUCCESS);
  CHECK(major * 10 + minor == 52);
  CUdeviceptr much = 0;
  CHECK(DRIVER(cuMemAlloc)(&much, 1 << 20) == CUDA_SUCCESS);
  CHECK(DRIVER(cuMemAlloc)(&much, 1) == CUDA_ERROR_OUT_OF_MEMORY);
}
TEST_CASE("the environment chooses the devices") {
  const Run run = run_alone("alone: an old driver",
                            "EMULATED_GPUS=3 EMULATED_GPU_DRIVER_VERSION=11040 "
                            "EMULATED_GPU_CAPABILITY=5.2 EMULATED_GPU_MEMORY=1048576");
  CHECK_MESSAGE(run.passed, run.output);
}

TEST_CASE("alone: no device" * doctest::skip()) {
  CHECK(DRIVER(cuInit)(0) == CUDA_ERROR_NO_DEVICE);
  int count = 0;
  CHECK(DRIVER(cuDeviceGetCount)(&count) == CUDA_ERROR_NOT_INITIALIZED);
}
TEST_CASE("there may be no device") {
  const Run run = run_alone("alone: no device", "EMULATED_GPUS=0");
  CHECK_MESSAGE(run.passed, run.output);
}

TEST_CASE("alone: a kernel is compiled" * doctest::skip()) {
  start();
  compile("KERNEL(test, int* y) {}");
}
TEST_CASE("what one process has compiled another takes from the cache") {
  const std::string folder = std::filesystem::temp_directory_path() / "emulated_gpu_test_cache";
  std::filesystem::remove_all(folder);
  const std::string test = "alone: a kernel is compiled";
  const std::string cache = "EMULATED_GPU_CACHE=" + folder;
  const std::string broken = cache + " CXX_FOR_EMULATED_GPU=false";
  CHECK_FALSE(run_alone(test, broken).passed);
  CHECK(run_alone(test, cache).passed);
  CHECK(run_alone(test, cache).passed);
  const auto files = std::filesystem::directory_iterator(folder);
  CHECK(std::distance(begin(files), end(files)) == 1);
  std::filesystem::remove_all(folder);
}
TEST_CASE("what all programs begin with is compiled once") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "emulated_gpu_test_headers";
  std::filesystem::remove_all(folder);
  const std::string kept = "EMULATED_GPU_CACHE= EMULATED_GPU_PRECOMPILED=" + folder.string();
  CHECK(run_alone("alone: a kernel is compiled", kept).passed);
  std::vector<std::filesystem::path> files(std::filesystem::directory_iterator(folder), {});
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() == 2);
  CHECK(files[0].extension() == ".h");
  CHECK(files[1].extension() == ".gch");
  const auto written = std::filesystem::last_write_time(files[1]);
  CHECK(run_alone("alone: a kernel is compiled", kept).passed);
  CHECK(std::filesystem::last_write_time(files[1]) == written);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace emulated_gpu::testing

#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace emulated_gpu::testing {

/// The function of a library that is found through LD_LIBRARY_PATH, as programs find it.
template <class Function>
Function* find(const char* library, const char* name) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  const std::string why = handle == nullptr ? dlerror() : "";
  REQUIRE_MESSAGE(handle != nullptr, why);
  void* const symbol = dlsym(handle, name);
  REQUIRE_MESSAGE(symbol != nullptr, std::string(name));
  return reinterpret_cast<Function*>(symbol);
}

#define EMULATED_GPU_TEXT_OF(name) #name
#define EMULATED_GPU_TEXT(name) EMULATED_GPU_TEXT_OF(name)
/// Calls a function of the driver under the name that cuda.h's macros give it.
#define DRIVER(name) \
  (*::emulated_gpu::testing::find<decltype(name)>("libcuda.so.1", EMULATED_GPU_TEXT(name)))
#define NVRTC(name) (*::emulated_gpu::testing::find<decltype(name)>("libnvrtc.so.13", #name))

/// Does it when the process ends, the last first: tests leave to it what they have created.
void at_end(std::function<void()> work);

/// A context of the device for the calling thread.
void start(int device = 0);

/// Runs a test that all others leave out, in a process of its own: what it printed, and how it
/// ended.
struct Run {
  bool passed = false;
  std::string output;
};
Run run_alone(const std::string& test, const std::string& environment = "");

/// Compiles `source` as programs do.
std::vector<char> cubin_of(const std::string& source);
/// Its module.
CUmodule compile(const std::string& source);
CUfunction kernel(CUmodule module, const char* name);

struct Size {
  unsigned x = 1, y = 1, z = 1;
};
template <class... Arguments>
CUresult launch(CUfunction function, Size grid, Size block, CUstream stream,
                Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return DRIVER(cuLaunchKernel)(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, 0,
                                stream, pointers, nullptr);
}

/// A stream that does not wait for the one without a name.
CUstream create_stream();
CUevent create_event(unsigned flags = CU_EVENT_DISABLE_TIMING);

/// An array on the device.
template <class T>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) {
    REQUIRE(DRIVER(cuMemAlloc)(&address_, count * sizeof(T)) == CUDA_SUCCESS);
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    REQUIRE(DRIVER(cuMemcpyHtoD)(address_, values.data(), count_ * sizeof(T)) == CUDA_SUCCESS);
  }
  ~Array() { DRIVER(cuMemFree)(address_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  CUdeviceptr address() const { return address_; }
  std::vector<T> values() const {
    std::vector<T> result(count_);
    REQUIRE(DRIVER(cuMemcpyDtoH)(result.data(), address_, count_ * sizeof(T)) == CUDA_SUCCESS);
    return result;
  }

 private:
  std::size_t count_;
  CUdeviceptr address_ = 0;
};

}  // namespace emulated_gpu::testing

#include "emulated_gpu/library.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <utility>

namespace emulated_gpu::testing {
namespace {

const char* const kPrelude = R"(
#ifndef KERNEL
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#endif
typedef long long int64;
)";

struct Leftovers {
  ~Leftovers() {
    for (; !work.empty(); work.pop_back()) work.back()();
  }
  std::vector<std::function<void()>> work;
};

}  // namespace

void at_end(std::function<void()> work) {
  static Leftovers leftovers;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  leftovers.work.push_back(std::move(work));
}

void start(int device) {
  REQUIRE(DRIVER(cuInit)(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  REQUIRE(DRIVER(cuDevicePrimaryCtxRetain)(&context, device) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
}

Run run_alone(const std::string& test, const std::string& environment) {
  const std::string path = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = environment + " '" + path + "' --no-skip -tc='" + test + "' 2>&1";
  std::FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Run run;
  std::array<char, 4096> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), pipe)) {
    run.output.append(part.data(), count);
  }
  run.passed = pclose(pipe) == 0;
  return run;
}

std::vector<char> cubin_of(const std::string& source) {
  nvrtcProgram program = nullptr;
  REQUIRE(NVRTC(nvrtcCreateProgram)(&program, (kPrelude + source).c_str(), "test.cu", 0, nullptr,
                                    nullptr) == NVRTC_SUCCESS);
  const std::vector<const char*> options = {"--gpu-architecture=sm_90", "--fmad=false",
                                            "--ftz=true"};
  const nvrtcResult result =
      NVRTC(nvrtcCompileProgram)(program, static_cast<int>(options.size()), options.data());
  std::size_t bytes = 0;
  REQUIRE(NVRTC(nvrtcGetProgramLogSize)(program, &bytes) == NVRTC_SUCCESS);
  std::string log(bytes, '\0');
  REQUIRE(NVRTC(nvrtcGetProgramLog)(program, log.data()) == NVRTC_SUCCESS);
  REQUIRE_MESSAGE(result == NVRTC_SUCCESS, log);
  REQUIRE(NVRTC(nvrtcGetCUBINSize)(program, &bytes) == NVRTC_SUCCESS);
  std::vector<char> cubin(bytes);
  REQUIRE(NVRTC(nvrtcGetCUBIN)(program, cubin.data()) == NVRTC_SUCCESS);
  REQUIRE(NVRTC(nvrtcDestroyProgram)(&program) == NVRTC_SUCCESS);
  return cubin;
}

CUmodule compile(const std::string& source) {
  const std::vector<char> cubin = cubin_of(source);
  CUmodule module = nullptr;
  REQUIRE(DRIVER(cuModuleLoadData)(&module, cubin.data()) == CUDA_SUCCESS);
  at_end([destroy = &DRIVER(cuModuleUnload), module] { destroy(module); });
  return module;
}

CUfunction kernel(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  REQUIRE(DRIVER(cuModuleGetFunction)(&function, module, name) == CUDA_SUCCESS);
  return function;
}

CUstream create_stream() {
  CUstream stream = nullptr;
  REQUIRE(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
  at_end([destroy = &DRIVER(cuStreamDestroy), stream] { destroy(stream); });
  return stream;
}

CUevent create_event(unsigned flags) {
  CUevent event = nullptr;
  REQUIRE(DRIVER(cuEventCreate)(&event, flags) == CUDA_SUCCESS);
  at_end([destroy = &DRIVER(cuEventDestroy), event] { destroy(event); });
  return event;
}

}  // namespace emulated_gpu::testing

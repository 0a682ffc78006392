#include "emulated_gpu/library.h"

namespace emulated_gpu::testing {
namespace {

const char* const kPrelude = R"(
#ifndef KERNEL
#define KERNEL(name, ...) extern "C" __global__ void name(__VA_ARGS__)
#endif
typedef long long int64;
)";

}  // namespace

void start() {
  REQUIRE(DRIVER(cuInit)(0) == CUDA_SUCCESS);
  CUcontext context = nullptr;
  REQUIRE(DRIVER(cuDevicePrimaryCtxRetain)(&context, 0) == CUDA_SUCCESS);
  REQUIRE(DRIVER(cuCtxSetCurrent)(context) == CUDA_SUCCESS);
}

CUmodule compile(const std::string& source) {
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
  std::string cubin(bytes, '\0');
  REQUIRE(NVRTC(nvrtcGetCUBIN)(program, cubin.data()) == NVRTC_SUCCESS);
  REQUIRE(NVRTC(nvrtcDestroyProgram)(&program) == NVRTC_SUCCESS);
  CUmodule module = nullptr;
  REQUIRE(DRIVER(cuModuleLoadData)(&module, cubin.data()) == CUDA_SUCCESS);
  return module;
}

CUfunction kernel(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  REQUIRE(DRIVER(cuModuleGetFunction)(&function, module, name) == CUDA_SUCCESS);
  return function;
}

}  // namespace emulated_gpu::testing

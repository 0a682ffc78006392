#include "backend/cuda/products/cublaslt.h"

#include <map>
#include <mutex>

#include "backend/cuda_libraries.h"
#include "base/error.h"
#include "device/cuda/compiler.h"
#include "device/cuda/library.h"

namespace meshwork::cuda::products {
namespace {

Cublaslt open_cublaslt() {
  const Library library("libcublasLt.so.13", usual_folders(),
                        "install cuBLAS of CUDA 13, or add its folder to LD_LIBRARY_PATH");
  Cublaslt cublaslt{};
#define MW_LOAD(name) library.load(#name, cublaslt.name);
  MW_CUBLASLT_FUNCTIONS(MW_LOAD)
#undef MW_LOAD
  return cublaslt;
}

}  // namespace

const Cublaslt& cublaslt() {
  static const Cublaslt kCublaslt = open_cublaslt();
  return kCublaslt;
}

cublasLtHandle_t cublaslt_handle(Gpu& gpu) {
  static std::mutex mutex;
  static std::map<int, cublasLtHandle_t> handles;
  const std::lock_guard lock(mutex);
  cublasLtHandle_t& handle = handles[gpu.number()];
  if (handle == nullptr) {
    gpu.make_current();
    check(cublaslt().cublasLtCreate(&handle), "starting cuBLASLt");
  }
  return handle;
}

void check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ExitCode::kCommunication,
       "device cuda: {}: {} (cublasStatus_t {}); see what nvidia-smi says, or say device: cpu",
       what, cublaslt().cublasLtGetStatusString(status), static_cast<int>(status));
}

}  // namespace meshwork::cuda::products

namespace meshwork {

void check_product_library() { cuda::products::cublaslt(); }

std::map<std::string, std::string> gpu_library_versions() {
  return {{"cublaslt", std::to_string(cuda::products::cublaslt().cublasLtGetVersion())},
          {"cudnn", convolution_library()},
          {"nvrtc", cuda::compiler_version()}};
}

}  // namespace meshwork

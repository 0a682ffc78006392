#include "backend/backend.h"
#include "backend/cuda_libraries.h"
#include "backend/tuned_products.h"
#include "device/cuda_device.h"

namespace meshwork {

Target cuda_target() {
  gpu_count();  // says what is missing
  return {};
}

std::string convolution_library() { return "of its own: this program was built without CUDA"; }

void check_product_library() { gpu_count(); }

std::map<std::string, std::string> gpu_library_versions() {
  gpu_count();
  return {};
}

std::unique_ptr<Backend> make_cuda_backend(std::optional<int> /*gpu*/, Target /*target*/) {
  gpu_count();
  return nullptr;
}

std::optional<TunedProducts> tuned_products(int /*gpu*/) {
  gpu_count();
  return std::nullopt;
}

Tuning tune_products(int /*gpu*/, const Target& /*target*/, std::span<const KernelUse> /*kernels*/,
                     const TuningWatch& /*watch*/) {
  gpu_count();
  return {};
}

}  // namespace meshwork

#include "backend/backend.h"
#include "device/cuda_device.h"

namespace meshwork {

Target cuda_target() { return {.name = "cuda"}; }

std::unique_ptr<Backend> make_cuda_backend(std::optional<int> gpu) {
  make_cuda_device(gpu.value_or(0), cuda_target());  // says what is missing
  return nullptr;
}

}  // namespace meshwork

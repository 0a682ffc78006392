#include "backend/backend.h"
#include "backend/cuda_libraries.h"
#include "device/cuda_device.h"

namespace meshwork {

Target cuda_target() {
  gpu_count();  // says what is missing
  return {};
}

std::string convolution_library() { return "of its own: this program was built without CUDA"; }

std::unique_ptr<Backend> make_cuda_backend(std::optional<int> /*gpu*/, Target /*target*/) {
  gpu_count();
  return nullptr;
}

}  // namespace meshwork

// Where cuDNN's headers are missing: our own kernels compute all.
#include "backend/cuda/windows/cudnn/by_cudnn.h"
#include "backend/cuda_libraries.h"

namespace meshwork {
namespace cuda::windows {

bool is_for_cudnn(const Task& /*task*/) { return false; }

std::int64_t cudnn_workspace(const Task& /*task*/) { return 0; }

std::optional<Launch> launch_by_cudnn(CudaStream& /*stream*/, const Task& /*task*/,
                                      std::byte* /*workspace*/) {
  return std::nullopt;
}

}  // namespace cuda::windows

std::string convolution_library() { return "of its own: this program was built without cuDNN"; }

}  // namespace meshwork

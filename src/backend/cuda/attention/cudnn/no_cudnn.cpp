// Where cuDNN's headers are missing: our own kernels compute all.
#include "backend/cuda/attention/cudnn/by_cudnn.h"

namespace meshwork::cuda::attention {

std::int64_t cudnn_forward_workspace(const Request& /*request*/) { return 0; }
std::int64_t cudnn_gradients_workspace(const Request& /*request*/) { return 0; }

std::optional<Launch> forward_by_cudnn(const Request& /*request*/) { return std::nullopt; }
std::optional<Launch> gradients_by_cudnn(const Request& /*request*/) { return std::nullopt; }

}  // namespace meshwork::cuda::attention

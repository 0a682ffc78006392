#include "backend/cuda/reductions/kernels.h"

#include <array>

#include "backend/cuda/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> reduction_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"argmax", argmax},
      {"channel_moments", channel_moments, channel_moments_workspace},
      {"crossentropy", crossentropy},
      {"crossentropy_gradient", crossentropy_gradient},
      {"log_softmax", log_softmax},
      {"reduce_max", reduce_max, reduce_workspace},
      {"reduce_sum", reduce_sum, reduce_workspace},
      {"scale_offset", scale_offset},
      {"scale_offset_sums", scale_offset_sums, channel_sums_workspace},
      {"scaled_sum", scaled_sum, reduce_workspace},
      {"shifted_sums", shifted_sums, channel_sums_workspace},
      {"softmax", softmax},
      {"sparsemax", sparsemax},
      {"sum_of_squares", sum_of_squares, reduce_workspace},
  });
  return list;
}

}  // namespace meshwork::cuda

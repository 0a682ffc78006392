#include "backend/cuda/kernels.h"

#include <array>

#include "backend/cuda/windows/kernels.h"

namespace meshwork::cuda {

std::span<const KernelDef> window_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"convolution", windows::convolution, windows::convolution_workspace},
      {"convolution_backward_data", windows::convolution_backward_data,
       windows::convolution_backward_data_workspace},
      {"convolution_backward_filter", windows::convolution_backward_filter,
       windows::convolution_backward_filter_workspace},
      {"max_pool", windows::max_pool},
      {"max_pool_input", windows::max_pool_input, windows::max_pool_input_workspace},
      {"sum_pool", windows::sum_pool},
      {"sum_pool_input", windows::sum_pool_input},
  });
  return list;
}

}  // namespace meshwork::cuda

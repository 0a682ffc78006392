#pragma once

#include <cstdint>

#include "backend/backend.h"

namespace meshwork::cuda::windows {

Launch convolution(const KernelArgs& args);
std::int64_t convolution_workspace(const KernelArgs& args);
Launch convolution_backward_data(const KernelArgs& args);
std::int64_t convolution_backward_data_workspace(const KernelArgs& args);
Launch convolution_backward_filter(const KernelArgs& args);
std::int64_t convolution_backward_filter_workspace(const KernelArgs& args);
Launch max_pool(const KernelArgs& args);
Launch max_pool_input(const KernelArgs& args);
std::int64_t max_pool_input_workspace(const KernelArgs& args);
Launch sum_pool(const KernelArgs& args);
Launch sum_pool_input(const KernelArgs& args);

}  // namespace meshwork::cuda::windows

#pragma once

#include "backend/cuda/kernel.h"

namespace meshwork::cuda {

Launch argmax(const KernelArgs& args);
Launch crossentropy(const KernelArgs& args);
Launch crossentropy_gradient(const KernelArgs& args);
Launch log_softmax(const KernelArgs& args);
Launch reduce_max(const KernelArgs& args);
Launch reduce_sum(const KernelArgs& args);
std::int64_t reduce_workspace(const KernelArgs& args);
Launch scale_offset(const KernelArgs& args);
Launch scale_offset_sums(const KernelArgs& args);
Launch shifted_sums(const KernelArgs& args);
Launch channel_moments(const KernelArgs& args);
std::int64_t channel_moments_workspace(const KernelArgs& args);
std::int64_t channel_sums_workspace(const KernelArgs& args);
Launch softmax(const KernelArgs& args);
Launch sparsemax(const KernelArgs& args);
Launch scaled_sum(const KernelArgs& args);
Launch sum_of_squares(const KernelArgs& args);

}  // namespace meshwork::cuda

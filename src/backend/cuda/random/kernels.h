#pragma once

#include "backend/cuda/kernel.h"

namespace meshwork::cuda {

Launch orthogonal(const KernelArgs& args);
std::int64_t orthogonal_workspace(const KernelArgs& args);
Launch random_normal(const KernelArgs& args);
Launch random_uniform(const KernelArgs& args);
Launch truncated_normal(const KernelArgs& args);

}  // namespace meshwork::cuda

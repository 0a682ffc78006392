#pragma once

#include "backend/backend.h"

namespace meshwork::cuda::products {

Launch einsum(const KernelArgs& args);
std::int64_t einsum_workspace(const KernelArgs& args);

}  // namespace meshwork::cuda::products

#pragma once

#include "backend/backend.h"

namespace meshwork::cuda {

Launch add_part(const KernelArgs& args);
Launch cast(const KernelArgs& args);
Launch constant(const KernelArgs& args);
Launch identity_matrix(const KernelArgs& args);
Launch iota(const KernelArgs& args);
Launch pad(const KernelArgs& args);
Launch reshape(const KernelArgs& args);

}  // namespace meshwork::cuda

#pragma once

#include "backend/cpu/widen.h"

namespace meshwork::cpu {

/// Binds a convolution_backward_filter as a sum over parts of the images, each of which `bind`
/// computes on one thread. Where they begin, and the order in which they are added, depends on the
/// shapes alone, not on the number of threads. `workspace` is that of a part.
Launch bind_kernel_parts(const KernelArgs& args, Bind bind, WorkspaceBytes workspace);
std::int64_t kernel_parts_workspace(const KernelArgs& args, WorkspaceBytes workspace);

}  // namespace meshwork::cpu

#pragma once

#include "backend/cpu/siblings.h"

/// Floats of 16 bits for kernels that know float32: operands are widened into the workspace, and
/// the result is rounded out of it. What such a kernel gives is what it gives of the same numbers
/// in float32, rounded once.
namespace meshwork::cpu {

using Bind = Launch (*)(const KernelArgs& args);
using WorkspaceBytes = std::int64_t (*)(const KernelArgs& args);

/// A kernel that knows float32 only. `workspace`, of the kernel itself, may be null.
Launch bind_widened(const KernelArgs& args, Bind bind);
std::int64_t widened_workspace(const KernelArgs& args, WorkspaceBytes workspace);

/// A kernel that takes floats of 16 bits, but gives float32.
Launch bind_wide_result(const KernelArgs& args, Bind bind);
std::int64_t wide_result_workspace(const KernelArgs& args, WorkspaceBytes workspace);

/// The entry of a list of kernels for one that knows float32 only.
template <Bind kBind, WorkspaceBytes kWorkspace = nullptr>
constexpr KernelDef widened(std::string_view op) {
  return {op, [](const KernelArgs& args) { return bind_widened(args, kBind); },
          [](const KernelArgs& args) { return widened_workspace(args, kWorkspace); }};
}

using BindSiblings = Launch (*)(const SiblingArgs& args);
using SiblingsBytes = std::int64_t (*)(const SiblingArgs& args);

/// The same of a kernel of several ops.
Launch bind_widened(const SiblingArgs& args, BindSiblings bind);
std::int64_t widened_workspace(const SiblingArgs& args, SiblingsBytes workspace);

}  // namespace meshwork::cpu

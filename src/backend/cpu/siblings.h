#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/siblings.h"

namespace meshwork::cpu {

/// Nodes of ops that are computed together, of the same attributes.
struct SiblingArgs {
  std::vector<TensorView> inputs;
  /// In the order in which the kernel names its ops; nothing for one that is not asked for.
  std::vector<std::optional<TensorView>> outputs;
  Attrs attrs;
  std::byte* workspace = nullptr;
};

/// A kernel of several ops, in a list like those of KernelDef. Of what is asked for it gives the
/// same bits, whatever else is.
struct SiblingKernel {
  SiblingOps ops;
  Launch (*bind)(const SiblingArgs& args);
  std::int64_t (*workspace)(const SiblingArgs& args);
};
std::span<const SiblingKernel> sibling_kernels();

/// What is asked of the backend for a fusion group of siblings.
Launch bind_siblings(const FusionGroup& group);
std::int64_t siblings_workspace(const FusionGroup& group);

/// The arguments of a node that is computed alone, the one at a place.
SiblingArgs alone(const KernelArgs& args, const SiblingKernel& kernel, std::size_t place);

/// The entry of a list of kernels for the op at a place of a kernel of several.
template <const SiblingKernel& kKernel, std::size_t kPlace>
constexpr KernelDef sibling() {
  return {kKernel.ops[kPlace],
          [](const KernelArgs& args) { return kKernel.bind(alone(args, kKernel, kPlace)); },
          [](const KernelArgs& args) { return kKernel.workspace(alone(args, kKernel, kPlace)); }};
}

}  // namespace meshwork::cpu

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/kernel.h"

namespace meshwork::cuda {

// The kernels of each folder; those of movement.h.
std::span<const KernelDef> attention_kernels();
std::span<const KernelDef> copy_kernels();
std::span<const KernelDef> elementwise_kernels();
std::span<const KernelDef> movement_kernels();
std::span<const KernelDef> product_kernels();
std::span<const KernelDef> random_kernels();
std::span<const KernelDef> reduction_kernels();
std::span<const KernelDef> table_kernels();
std::span<const KernelDef> window_kernels();

/// Groups of elementwise nodes that do not depend on each other; those whose kernels differ in
/// extents alone are one launch. One that adds up columns needs scratch, and keeps no more sums
/// than a block has shared memory for.
Launch bind_fusions(std::span<const FusionGroup> groups, CudaStream& stream);
std::int64_t pass_workspace(const FusionGroup& group);
constexpr std::int64_t kMostColumnSums = 8192;

/// Ops of which several nodes are computed at once, each with the bits that it has alone: sums.
std::vector<std::string_view> sums_beside_others();
/// Nodes of these that do not depend on each other, nothing if they are of other ops; and the bytes
/// of scratch of each.
std::optional<Launch> bind_sums(std::span<const FusionGroup> groups, CudaStream& stream);
std::int64_t sums_workspace(const FusionGroup& group);

/// Ops of which a stack of nodes of one form is computed at once: products.
std::vector<std::string_view> stacked_ops();
/// Such nodes, and the bytes of scratch that they share; nothing if they are other groups.
std::optional<Launch> bind_stack(std::span<const FusionGroup> groups, const Target& target,
                                 CudaStream& stream);
std::optional<std::int64_t> stack_workspace(std::span<const FusionGroup> groups,
                                            const Target& target);

/// Ops that are computed together where they read the same operands, those of each kernel in a
/// list; the kernel of a group of such ops, and the bytes of its scratch.
struct SiblingKernels {
  std::vector<std::vector<std::string>> ops;
  Launch (*bind)(const FusionGroup& group, CudaStream& stream);
  std::int64_t (*workspace)(const FusionGroup& group);
};
SiblingKernels attention_siblings();
SiblingKernels crossentropy_siblings();

}  // namespace meshwork::cuda

#include "backend/cuda/kernels.h"

#include <algorithm>
#include <array>

#include "backend/cuda/products/kernels.h"
#include "backend/siblings.h"

namespace meshwork::cuda {

std::span<const KernelDef> product_kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"einsum", products::einsum, products::einsum_workspace},
      {"einsum_bias", products::einsum, products::einsum_workspace},
      {"packed_einsum", products::sparse_einsum, products::sparse_einsum_workspace},
      {"sparse_einsum", products::sparse_einsum, products::sparse_einsum_workspace},
  });
  return list;
}

std::vector<std::string_view> stacked_ops() { return {"einsum", "einsum_bias"}; }

namespace {

/// Nothing where the groups are no single products.
std::optional<std::vector<KernelArgs>> products_of(std::span<const FusionGroup> groups,
                                                   const Target& target) {
  const std::vector<std::string_view> ops = stacked_ops();
  std::vector<KernelArgs> nodes;
  for (const FusionGroup& group : groups) {
    const FusionGroup::Member& member = group.members.front();
    if (group.members.size() > 1 || std::ranges::find(ops, member.op) == ops.end())
      return std::nullopt;
    KernelArgs& args = nodes.emplace_back(node_of(group, member));
    args.workspace = group.workspace;
    args.target = &target;
  }
  return nodes;
}

}  // namespace

std::optional<Launch> bind_stack(std::span<const FusionGroup> groups, const Target& target,
                                 CudaStream& stream) {
  auto nodes = products_of(groups, target);
  if (!nodes) return std::nullopt;
  for (KernelArgs& args : *nodes) args.stream = &stream;
  return products::einsum_stack(*nodes);
}

std::optional<std::int64_t> stack_workspace(std::span<const FusionGroup> groups,
                                            const Target& target) {
  const auto nodes = products_of(groups, target);
  if (!nodes) return std::nullopt;
  return products::stack_workspace(nodes->front(), std::ssize(*nodes));
}

}  // namespace meshwork::cuda

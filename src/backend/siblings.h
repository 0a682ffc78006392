#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "backend/backend.h"

/// Ops that are computed together where they read the same operands: `ops` are their names, joined
/// by '+' as in Target::kernels.
namespace meshwork {

constexpr std::size_t count_ops(std::string_view ops) {
  return static_cast<std::size_t>(std::count(ops.begin(), ops.end(), '+')) + 1;
}

/// The op at a place of `ops`; "" behind the last.
constexpr std::string_view op_at(std::string_view ops, std::size_t place) {
  for (; place > 0 && !ops.empty(); --place) {
    const std::size_t end = ops.find('+');
    ops = end == std::string_view::npos ? "" : ops.substr(end + 1);
  }
  return ops.substr(0, ops.find('+'));
}

/// Where an op stands in `ops`; their number if it does not.
std::size_t place_of(std::string_view op, std::string_view ops);

/// Whether all members of a group are of `ops`.
bool are_of(const FusionGroup& group, std::string_view ops);

/// A member that reads inputs of the group alone, as a node, but for memory for scratch.
KernelArgs node_of(const FusionGroup& group, const FusionGroup::Member& member);

/// The operands of a group whose members all read the same.
std::vector<TensorView> operands_of_all(const FusionGroup& group);

}  // namespace meshwork

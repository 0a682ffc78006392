#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace meshwork {

/// Ops that one kernel computes together where they read the same operands; "" behind the last.
using SiblingOps = std::array<std::string_view, 3>;

/// But for "".
std::span<const std::string_view> ops_of(const SiblingOps& ops);
/// As in Target::siblings.
std::vector<std::string> names_of(const SiblingOps& ops);

/// Where an op stands in `ops`, which have it.
std::size_t place_of(std::string_view op, std::span<const std::string_view> ops);

/// Whether all members of a group are of `ops`.
bool are_of(const FusionGroup& group, std::span<const std::string_view> ops);

/// A member that reads inputs of the group alone, as a node, but for memory for scratch.
KernelArgs node_of(const FusionGroup& group, const FusionGroup::Member& member);

/// The operands of a group whose members all read the same.
std::vector<TensorView> operands_of_all(const FusionGroup& group);

}  // namespace meshwork

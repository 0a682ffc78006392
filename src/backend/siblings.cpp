#include "backend/siblings.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork {

std::span<const std::string_view> ops_of(const SiblingOps& ops) {
  return {ops.begin(), std::ranges::find(ops, std::string_view())};
}

std::vector<std::string> names_of(const SiblingOps& ops) {
  const auto named = ops_of(ops);
  return {named.begin(), named.end()};
}

std::size_t place_of(std::string_view op, std::span<const std::string_view> ops) {
  return static_cast<std::size_t>(std::ranges::find(ops, op) - ops.begin());
}

bool are_of(const FusionGroup& group, std::span<const std::string_view> ops) {
  return std::ranges::all_of(group.members, [&](const FusionGroup::Member& member) {
    return std::ranges::find(ops, member.op) != ops.end();
  });
}

KernelArgs node_of(const FusionGroup& group, const FusionGroup::Member& member) {
  KernelArgs args{.inputs = {}, .output = member.output, .attrs = member.attrs};
  for (const std::size_t operand : member.operands) args.inputs.push_back(group.inputs.at(operand));
  return args;
}

std::vector<TensorView> operands_of_all(const FusionGroup& group) {
  const FusionGroup::Member& first = group.members.front();
  for (const FusionGroup::Member& member : group.members) {
    MW_CHECK(member.operands == first.operands, "'{}' beside '{}'", member.op, first.op);
  }
  return node_of(group, first).inputs;
}

}  // namespace meshwork

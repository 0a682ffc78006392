#include "backend/siblings.h"

#include "base/check.h"

namespace meshwork {

std::size_t place_of(std::string_view op, std::string_view ops) {
  std::size_t place = 0;
  while (place < count_ops(ops) && op_at(ops, place) != op) ++place;
  return place;
}

bool are_of(const FusionGroup& group, std::string_view ops) {
  return std::ranges::all_of(group.members, [&](const FusionGroup::Member& member) {
    return place_of(member.op, ops) < count_ops(ops);
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

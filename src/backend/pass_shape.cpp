#include "backend/pass_shape.h"

namespace meshwork {
namespace {

bool is_sum(const FusionGroup::Member& member) { return member.op == "reduce_sum"; }

}  // namespace

PassShape::PassShape(const FusionGroup& group) : elements(group.members.back().output.type.shape) {
  for (const FusionGroup::Member& member : group.members) {
    if (!is_sum(member)) continue;
    const std::size_t x = member.operands[0], inputs = group.inputs.size();
    elements =
        x < inputs ? group.inputs[x].type.shape : group.members[x - inputs].output.type.shape;
    row = elements.back();
    rows = elements;
    rows.back() = 1;
  }
}

bool sums_rows(const FusionGroup::Member& member) {
  if (!is_sum(member) || !member.attrs.flag("keepdims")) return false;
  const auto last = static_cast<std::int64_t>(member.output.type.shape.size()) - 1;
  return member.attrs.integers("axes") == Shape{last};
}

bool sums_columns(const FusionGroup::Member& member) {
  return is_sum(member) && !sums_rows(member);
}

float number_of(const FusionGroup::Member& member) {
  return static_cast<float>(member.attrs.real("value"));
}

Shape broadcast_shape(const FusionGroup::Member& member, std::size_t operand, Shape shape) {
  if (member.op == "scale_offset" && operand > 0) {
    const auto rank = static_cast<std::int64_t>(member.output.type.shape.size());
    shape.insert(shape.end(), static_cast<std::size_t>(rank - 1 - member.attrs.integer("axis")), 1);
  }
  return shape;
}

}  // namespace meshwork

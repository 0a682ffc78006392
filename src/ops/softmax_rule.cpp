#include "ops/softmax_rule.h"

#include "ops/rule_text.h"

namespace meshwork::ops {

std::string softmax_rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const std::string dims = whole_axis(rank, axis, axis);
  return dims + " -> " + dims;
}

}  // namespace meshwork::ops

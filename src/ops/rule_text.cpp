#include "ops/rule_text.h"

namespace meshwork::ops {

std::string whole_axis(std::size_t rank, std::size_t axis, std::size_t index) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d > 0) text += ' ';
    text += d == axis ? "[" + factor_name(index) + "]" : factor_name(d);
  }
  return text;
}

std::string resized_axis_rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  return whole_axis(rank, axis, axis) + " -> " + whole_axis(rank, axis, rank);
}

std::string leaf_rule(const OpArgs& args) { return "-> " + factor_names(args.output.shape.size()); }

std::string whole_rule(const OpArgs& args) {
  std::size_t next = 0;
  const auto operand = [&](const Shape& shape) {
    std::string text;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      text += (d > 0 ? " [" : "[") + factor_name(next++) + "]";
    }
    return text;
  };
  std::string text;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + operand(args.inputs[i].shape);
  }
  return text + " -> " + operand(args.output.shape);
}

double no_flops(const OpArgs& /*args*/) { return 0; }

}  // namespace meshwork::ops

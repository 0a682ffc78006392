// y = the operands one after the other along `axis`
#include "base/check.h"
#include "base/error.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(!args.inputs.empty());
  TensorType result = args.inputs[0];
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  MW_CHECK(axis < result.shape.size(), "axis {} of {}", axis, to_string(result));
  for (const TensorType& input : args.inputs.subspan(1)) {
    MW_CHECK(input.dtype == result.dtype, "operands are {} and {}", to_string(result),
             to_string(input));
    Shape expected = args.inputs[0].shape;
    if (input.shape.size() == expected.size()) expected[axis] = input.shape[axis];
    if (input.shape != expected) {
      fail("cannot concatenate {} and {} along dimension {}", to_string(args.inputs[0].shape),
           to_string(input.shape), axis);
    }
    result.shape[axis] += input.shape[axis];
  }
  return result;
}

// "a [b], a [c] -> a [d]"
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.output.shape.size();
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  std::string text;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + whole_axis(rank, axis, rank + i);
  }
  return text + " -> " + whole_axis(rank, axis, axis);
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const std::int64_t axis = node.attrs.integer("axis");
  std::vector<ValueId> result;
  std::int64_t start = 0;
  for (const ValueId input : node.inputs) {
    const std::int64_t size = b.shape(input)[static_cast<std::size_t>(axis)];
    Attrs attrs{{"axis", axis}, {"start", start}, {"size", size}};
    if (const Attr* const at_once = node.attrs.find("read_at_once")) {
      attrs.set("read_at_once", *at_once);
    }
    result.push_back(b.add(kSlice, {dy}, std::move(attrs)));
    start += size;
  }
  return result;
}

}  // namespace

const OpDef kConcatenate{
    .name = "concatenate",
    .infer = infer,
    .rule = rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kJointly,
    .joins = true,
};

}  // namespace meshwork::ops

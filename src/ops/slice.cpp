// y[.., i, ..] = x[.., start + i, ..] for i < size, along `axis`
#include "base/check.h"
#include "base/error.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& x = args.inputs[0].shape;
  const std::int64_t axis = args.attrs.integer("axis");
  const std::int64_t start = args.attrs.integer("start");
  const std::int64_t size = args.attrs.integer("size");
  MW_CHECK(axis >= 0 && axis < static_cast<std::int64_t>(x.size()), "axis {} of {}", axis,
           to_string(x));
  const std::int64_t extent = x[static_cast<std::size_t>(axis)];
  if (start < 0 || size < 0 || start > extent || size > extent - start) {
    fail("cannot take {} elements from {} on of dimension {} of {}", size, start, axis,
         to_string(x));
  }
  TensorType result = args.inputs[0];
  result.shape[static_cast<std::size_t>(axis)] = size;
  return result;
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  const TensorType x = b.type(node.inputs[0]);
  const std::int64_t axis = node.attrs.integer("axis");
  const std::int64_t before = node.attrs.integer("start");
  const auto dim = static_cast<std::size_t>(axis);
  const std::int64_t after = x.shape[dim] - before - node.attrs.integer("size");
  std::vector<ValueId> parts;
  const auto add_zeros = [&](std::int64_t extent) {
    if (extent == 0) return;
    Shape shape = x.shape;
    shape[dim] = extent;
    parts.push_back(constant(b, 0, {x.dtype, std::move(shape)}));
  };
  add_zeros(before);
  parts.push_back(dy);
  add_zeros(after);
  return {b.add(kConcatenate, std::move(parts), {{"axis", axis}})};
}

std::optional<std::int64_t> view_offset(const OpArgs& args) {
  if (args.attrs.integer("axis") != 0) return std::nullopt;
  const Shape row(args.output.shape.begin() + 1, args.output.shape.end());
  return args.attrs.integer("start") * num_elements(row);
}

}  // namespace

const OpDef kSlice{
    .name = "slice",
    .infer = infer,
    .rule = resized_axis_rule,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kJointly,
    .view_offset = view_offset,
};

}  // namespace meshwork::ops

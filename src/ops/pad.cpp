// y[i..] = x[i - low..] where x has it, else 0; a negative `low` cuts elements off
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  const Shape& shape = args.attrs.integers("shape");
  MW_CHECK(args.attrs.integers("low").size() == shape.size() &&
           shape.size() == args.inputs[0].shape.size());
  return {args.inputs[0].dtype, shape};
}

bool is_kept(const OpArgs& args, std::size_t dim) {
  return args.attrs.integers("low")[dim] == 0 &&
         args.attrs.integers("shape")[dim] == args.inputs[0].shape[dim];
}

std::string rule(const OpArgs& args) {
  std::string left;
  std::string right;
  for (std::size_t d = 0; d < args.inputs[0].shape.size(); ++d) {
    left += (d > 0 ? " " : "") + factor_name(d) + (is_kept(args, d) ? "" : "~");
    right += " " + factor_name(d);
  }
  return left + " ->" + right;
}

Reach reach(const OpArgs& args, std::size_t /*operand*/, std::size_t dim) {
  const std::int64_t low = args.attrs.integers("low")[dim];
  return {.up = 1, .down = 1, .first = 0, .last = 0, .begin = -low, .end = -low};
}

std::vector<ValueId> grad(GraphBuilder& b, ValueId self, ValueId dy) {
  const Node node = b.node(self);
  Shape low = node.attrs.integers("low");
  for (std::int64_t& elements : low) elements = -elements;
  return {b.add(kPad, {dy}, {{"low", low}, {"shape", b.shape(node.inputs[0])}})};
}

}  // namespace

const OpDef kPad{
    .name = "pad",
    .infer = infer,
    .rule = rule,
    .reach = reach,
    .grad = grad,
    .flops = no_flops,
    .linear = Linear::kJointly,
};

}  // namespace meshwork::ops

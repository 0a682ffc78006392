// y = x, but y[.., start + i, ..] = x[.., start + i, ..] + part[.., i, ..] along `dim`
#include "base/check.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2);
  const TensorType &x = args.inputs[0], &part = args.inputs[1];
  MW_CHECK(is_floating(x.dtype) && part.dtype == x.dtype);
  const auto dim = static_cast<std::size_t>(args.attrs.integer("dim"));
  const std::int64_t start = args.attrs.integer("start");
  Shape like = x.shape;
  MW_CHECK(dim < like.size() && part.shape.size() == like.size());
  like[dim] = part.shape[dim];
  MW_CHECK(part.shape == like && start >= 0 && start + like[dim] <= x.shape[dim],
           "{} at {} of dimension {} of {}", to_string(part), start, dim, to_string(x));
  return x;
}

double flops(const OpArgs& args) { return static_cast<double>(num_elements(args.inputs[1].shape)); }

}  // namespace

const OpDef kAddPart{
    .name = "add_part",
    .infer = infer,
    .rule = whole_rule,
    .flops = flops,
    .in_place = true,
};

}  // namespace meshwork::ops

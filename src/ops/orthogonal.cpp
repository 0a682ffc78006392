// y = gain * Q: orthonormal columns, or rows where there are fewer of them, of a normal matrix;
// all dimensions but the last count as rows (Saxe et al. 2014; Keras: Orthogonal)
#include <algorithm>

#include "base/error.h"
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  TensorType type = infer_leaf(args);
  if (type.shape.size() < 2) {
    fail("an orthogonal matrix has two or more dimensions, not those of {}", to_string(type.shape));
  }
  return type;
}

double flops(const OpArgs& args) {
  const auto elements = static_cast<double>(num_elements(args.output.shape));
  const auto columns = static_cast<double>(args.output.shape.back());
  return columns == 0 ? 0 : 4 * elements * std::min(columns, elements / columns);
}

}  // namespace

const OpDef kOrthogonal{
    .name = "orthogonal",
    .infer = infer,
    .rule = whole_rule,
    .flops = flops,
};

}  // namespace meshwork::ops

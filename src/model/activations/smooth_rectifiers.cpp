// Smooth relatives of max(x, 0)
#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

// (x + sqrt(x^2 + width)) / 2
ValueId squareplus(GraphBuilder& b, ValueId x, double width) {
  const ValueId root = ops::sqrt(b, ops::shift(b, ops::square(b, x), width));
  return ops::scale(b, ops::add(b, x, root), 0.5);
}

Activation read_squareplus(config::Reader& args) {
  const double width = args.get("b", 4.0, config::at_least(0));
  return [width](GraphBuilder& b, ValueId x) { return squareplus(b, x, width); };
}

// 0 up to -1, (x + 1)^2 / 4 up to 1, then x
ValueId sparse_plus(GraphBuilder& b, ValueId x) {
  const ValueId curve = ops::scale(b, ops::square(b, ops::shift(b, x, 1.0)), 0.25);
  const ValueId above = ops::greater_equal(b, x, ops::constant_like(b, 1.0, x));
  const ValueId inside = ops::greater(b, x, ops::constant_like(b, -1.0, x));
  const ValueId bent = ops::select(b, inside, curve, ops::constant_like(b, 0.0, x));
  return ops::select(b, above, x, bent);
}

}  // namespace

const ActivationDef kSoftplus{.names = {"softplus"},
                              .read = [](config::Reader&) { return one_op(ops::kSoftplus); }};
const ActivationDef kSparsePlus{.names = {"sparse_plus"}, .read = plain<sparse_plus>};
const ActivationDef kSquareplus{.names = {"squareplus"}, .read = read_squareplus};

}  // namespace meshwork::activations

// exp(x) and units that follow it below zero
#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

// Klambauer et al. 2017: fixed point of mean 0 and variance 1
constexpr double kSeluAlpha = 1.6732632423543772848;
constexpr double kSeluScale = 1.0507009873554804934;

// x where x > 0, else alpha (exp(x / width) - 1)
ValueId exponential_unit(GraphBuilder& b, ValueId x, double alpha, double width) {
  const ValueId zero = ops::constant_like(b, 0.0, x);
  const ValueId positive = ops::greater(b, x, zero);
  ValueId below = ops::select(b, positive, zero, x);
  if (width != 1.0) below = ops::scale(b, below, 1 / width);
  const ValueId curve = ops::scale(b, expm1_negative(b, below), alpha);
  return ops::select(b, positive, x, curve);
}

Activation read_elu(config::Reader& args) {
  const double alpha = args.get("alpha", 1.0);
  return [alpha](GraphBuilder& b, ValueId x) { return exponential_unit(b, x, alpha, 1.0); };
}

Activation read_celu(config::Reader& args) {
  const double alpha = args.get("alpha", 1.0, config::more_than(0));
  return [alpha](GraphBuilder& b, ValueId x) { return exponential_unit(b, x, alpha, alpha); };
}

ValueId selu(GraphBuilder& b, ValueId x) {
  return ops::scale(b, exponential_unit(b, x, kSeluAlpha, 1.0), kSeluScale);
}

}  // namespace

const ActivationDef kCelu{.names = {"celu"}, .read = read_celu};
const ActivationDef kElu{.names = {"elu"}, .read = read_elu};
const ActivationDef kExponential{.names = {"exponential"},
                                 .read = [](config::Reader&) { return one_op(ops::kExp); }};
const ActivationDef kSelu{.names = {"selu"}, .read = plain<selu>};

}  // namespace meshwork::activations

// Curves from one bound to another
#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

// ln(1 / (1 + exp(-x)))
ValueId log_sigmoid(GraphBuilder& b, ValueId x) {
  const ValueId flipped = ops::negate(b, x);
  return ops::negate(b, b.add(ops::kSoftplus, {flipped}));
}

// x / (1 + |x|)
ValueId softsign(GraphBuilder& b, ValueId x) {
  return ops::divide(b, x, ops::shift(b, ops::abs(b, x), 1.0));
}

// (x + 1) / 2 within [-1, 1]
ValueId sparse_sigmoid(GraphBuilder& b, ValueId x) {
  return ops::scale(b, ops::clip(b, ops::shift(b, x, 1.0), 0.0, 2.0), 0.5);
}

// (x + 3) / 6 within [-3, 3]
ValueId hard_sigmoid(GraphBuilder& b, ValueId x) {
  return ops::scale(b, ops::clip(b, ops::shift(b, x, 3.0), 0.0, 6.0), 1.0 / 6.0);
}

}  // namespace

const ActivationDef kHardSigmoid{.names = {"hard_sigmoid"}, .read = plain<hard_sigmoid>};
const ActivationDef kHardTanh{
    .names = {"hard_tanh"},
    .read = [](config::Reader&) -> Activation {
      return [](GraphBuilder& b, ValueId x) { return ops::clip(b, x, -1.0, 1.0); };
    },
};

const ActivationDef kLogSigmoid{.names = {"log_sigmoid"}, .read = plain<log_sigmoid>};
const ActivationDef kSigmoid{.names = {"sigmoid"},
                             .read = [](config::Reader&) { return one_op(ops::kSigmoid); }};
const ActivationDef kSoftsign{.names = {"softsign"}, .read = plain<softsign>};
const ActivationDef kSparseSigmoid{.names = {"sparse_sigmoid"}, .read = plain<sparse_sigmoid>};
const ActivationDef kTanh{.names = {"tanh"},
                          .read = [](config::Reader&) { return one_op(ops::kTanh); }};

}  // namespace meshwork::activations

// Near zero nothing, else x or x moved towards zero
#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "ops/ops.h"

namespace meshwork::activations {
namespace {

// x - bound above the bound, x + bound below -bound, else 0
Activation read_soft_shrink(config::Reader& args) {
  const double bound = args.get("threshold", 0.5, config::at_least(0));
  return [bound](GraphBuilder& b, ValueId x) {
    return ops::subtract(b, x, ops::clip(b, x, -bound, bound));
  };
}

// x where |x| > bound, else 0
Activation read_hard_shrink(config::Reader& args) {
  const double bound = args.get("threshold", 0.5, config::at_least(0));
  return [bound](GraphBuilder& b, ValueId x) {
    const ValueId far = b.add(ops::kGreater, {ops::abs(b, x), ops::constant_like(b, bound, x)});
    return ops::select(b, far, x, ops::constant_like(b, 0.0, x));
  };
}

}  // namespace

const ActivationDef kHardShrink{.names = {"hard_shrink"}, .read = read_hard_shrink};
const ActivationDef kSoftShrink{.names = {"soft_shrink"}, .read = read_soft_shrink};
const ActivationDef kTanhShrink{
    .names = {"tanh_shrink"},
    .read = [](config::Reader&) -> Activation {
      return [](GraphBuilder& b, ValueId x) { return ops::subtract(b, x, b.add(ops::kTanh, {x})); };
    },
};

}  // namespace meshwork::activations

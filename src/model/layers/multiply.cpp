// y = x1 x2 .., elementwise; what a mask hides is 1, and 0 where no input counts
#include "model/layers/masks.h"
#include "model/layers/merge.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  std::vector<ValueId> factors(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (scope.mask(i) != kNoValue) factors[i] = where(b, scope.mask(i), factors[i], 1);
  }
  const ValueId y = fold(scope, args, factors, ops::kMultiply);
  const ValueId counts = any_counts(b, masks_to_one_rank(scope, inputs));
  return counts == kNoValue ? y : where(b, counts, y, 0);
}

}  // namespace

const LayerDef kMultiply{
    .names = {"Multiply"},
    .build = build,
    .min_inputs = 2,
    .max_inputs = kAnyNumber,
};

}  // namespace meshwork::layers

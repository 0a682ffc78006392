// y = x / |x|, the length over `axis`; 0 stays 0
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

constexpr double kLeastSquare = 1e-24;  // Keras divides by no less than 1e-12

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const auto axes = read_axes(args.find("axis"), -1, b.shape(x).size());
  const ValueId sum = ops::reduce_sum(b, ops::square(b, x), axes, true);
  const ValueId square = ops::maximum(b, sum, ops::constant(b, kLeastSquare));
  return ops::divide(b, x, ops::sqrt(b, square));
}

}  // namespace

const LayerDef kUnitNormalization{.names = {"UnitNormalization"},
                                  .build = build,
                                  .inside = Inside::kFloat32,
                                  .passes_mask = true};

}  // namespace meshwork::layers

// y = scale x / sqrt(mean of x^2 + epsilon), the mean over `axis` of each sample
#include "model/arguments.h"
#include "model/layers/normalization.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const Shape shape = b.shape(x);
  const auto axes = read_sample_axes(args, shape.size());
  const double epsilon = args.get("epsilon", 1e-6, config::at_least(0));
  Shape extents;
  Shape spread(shape.size(), 1);
  for (const std::int64_t axis : axes) {
    const auto dim = static_cast<std::size_t>(axis);
    extents.push_back(shape[dim]);
    spread[dim] = shape[dim];
  }
  const ValueId scale = scope.variable("scale", extents, read_initializer("ones"));
  const ValueId square = ops::reduce_mean(b, ops::square(b, x), axes, true);
  const ValueId y = ops::multiply(b, x, inverse_deviation(b, square, epsilon));
  return ops::multiply(b, y, ops::reshape(b, scale, spread));
}

}  // namespace

const LayerDef kRmsNormalization{
    .names = {"RMSNormalization"}, .build = build, .inside = Inside::kFloat32};

}  // namespace meshwork::layers

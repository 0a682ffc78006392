#include "model/layers/normalization.h"

#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::layers {

NormalizationArguments read_normalization(config::Reader& args) {
  NormalizationArguments normalization;
  normalization.epsilon = args.get("epsilon", 1e-3, config::at_least(0));
  normalization.center = args.get("center", true);
  normalization.scale = args.get("scale", true);
  normalization.beta_initializer = read_initializer(args, "beta_initializer", "zeros");
  normalization.gamma_initializer = read_initializer(args, "gamma_initializer", "ones");
  return normalization;
}

ValueId add_gamma(Scope& scope, const NormalizationArguments& normalization, const Shape& shape) {
  return scope.optional_variable(normalization.scale, "scale: false", "gamma", shape,
                                 normalization.gamma_initializer);
}

ValueId add_beta(Scope& scope, const NormalizationArguments& normalization, const Shape& shape) {
  return scope.optional_variable(normalization.center, normalization.no_center, "beta", shape,
                                 normalization.beta_initializer);
}

ValueId scale_and_center(Scope& scope, const NormalizationArguments& normalization, ValueId x,
                         const std::vector<std::int64_t>& axes) {
  GraphBuilder& b = scope.builder();
  Shape shape;
  Shape spread(b.shape(x).size(), 1);
  for (const std::int64_t axis : axes) {
    const auto dim = static_cast<std::size_t>(axis);
    shape.push_back(b.shape(x)[dim]);
    spread[dim] = shape.back();
  }
  const ValueId gamma = add_gamma(scope, normalization, shape);
  const ValueId beta = add_beta(scope, normalization, shape);
  if (axes.size() == 1 && gamma != kNoValue && beta != kNoValue) {
    return b.add(ops::kScaleOffset, {x, gamma, beta}, {{"axis", axes[0]}});
  }
  if (gamma != kNoValue) x = ops::multiply(b, x, ops::reshape(b, gamma, spread));
  if (beta != kNoValue) x = ops::add(b, x, ops::reshape(b, beta, spread));
  return x;
}

ValueId standardize(GraphBuilder& b, ValueId x, const std::vector<std::int64_t>& axes,
                    double epsilon) {
  const ValueId centered = ops::subtract(b, x, ops::reduce_mean(b, x, axes, true));
  const ValueId square = ops::square(b, centered);
  const ValueId variance = ops::reduce_mean(b, square, axes, true);
  return ops::multiply(b, centered, inverse_deviation(b, variance, epsilon));
}

ValueId inverse_deviation(GraphBuilder& b, ValueId variance, double epsilon) {
  const ValueId deviation = ops::sqrt(b, ops::shift(b, variance, epsilon));
  return ops::divide(b, ops::constant(b, 1.0), deviation);
}

}  // namespace meshwork::layers

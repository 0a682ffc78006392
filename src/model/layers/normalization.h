#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/layers/layer.h"

namespace meshwork::layers {

/// What the normalizing layers have in common, as Keras names it.
struct NormalizationArguments {
  double epsilon = 0;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer;
  Initializer gamma_initializer;
  std::string no_center = "center: false";  ///< the argument that leaves out beta
};

/// Reads these.
NormalizationArguments read_normalization(config::Reader& args);

/// The variable of a shape, or kNoValue where the arguments leave it out.
ValueId add_gamma(Scope& scope, const NormalizationArguments& normalization, const Shape& shape);
ValueId add_beta(Scope& scope, const NormalizationArguments& normalization, const Shape& shape);

/// gamma x + beta, the variables of the extents that `x` has along `axes`.
ValueId scale_and_center(Scope& scope, const NormalizationArguments& normalization, ValueId x,
                         const std::vector<std::int64_t>& axes);

/// (x - mean) / sqrt(variance + epsilon) over `axes`, the variance as the mean square of what is
/// left of x.
ValueId standardize(GraphBuilder& b, ValueId x, const std::vector<std::int64_t>& axes,
                    double epsilon);

/// 1 / sqrt(variance + epsilon)
ValueId inverse_deviation(GraphBuilder& b, ValueId variance, double epsilon);

}  // namespace meshwork::layers

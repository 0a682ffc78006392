// y[.., i, j] = sin(i w^(j / features)) for even j, cos(i w^((j - 1) / features)) for odd ones,
// w = 1 / max_wavelength, whatever x is
#include "model/arguments.h"
#include "model/count_along.h"
#include "model/layers/decoding.h"
#include "model/layers/positions.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  check_steps(args, shape);
  const double wavelength = args.get("max_wavelength", 10000.0, config::more_than(0));
  const std::size_t rank = scope.decoding() ? shape.size() : 2;
  const ValueId step = places_along(scope, args, rank, rank - 2, shape[shape.size() - 2]);
  const ValueId feature = count_along(b, rank, rank - 1, shape.back());
  const ValueId half = ops::floor(b, ops::scale(b, feature, 0.5));
  const ValueId even = ops::scale(b, half, 2);
  const ValueId share = ops::divide(b, even, ops::constant(b, static_cast<double>(shape.back())));
  const ValueId timescale = ops::power(b, ops::constant(b, 1 / wavelength), share);
  const ValueId angle = ops::multiply(b, step, timescale);
  const ValueId is_odd = ops::subtract(b, feature, even);
  const ValueId y =
      b.add(ops::kSelect, {is_odd, b.add(ops::kCosine, {angle}), b.add(ops::kSine, {angle})});
  return ops::broadcast_to(b, y, shape);
}

}  // namespace

const LayerDef kSinePositionEncoding{.names = {"SinePositionEncoding"},
                                     .build = build,
                                     .inside = Inside::kFloat32,
                                     .module = "keras_hub.layers"};

}  // namespace meshwork::layers

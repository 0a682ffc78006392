// GaussianNoise: y = x + e, e normal with standard deviation `stddev`. GaussianDropout: y = x e, e
// normal with mean 1 and the deviation of dropout at `rate`. In training only.
#include <cmath>

#include "model/layers/layer.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build_noise(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double stddev = args.require_real("stddev", config::between(0, 1));
  const std::int64_t stream = read_stream(scope, args);
  if (!scope.training() || stddev == 0) return inputs[0];
  const Shape shape = b.shape(inputs[0]);
  return ops::add(
      b, inputs[0],
      ops::cast(b, draw_normal(scope, stream, shape, 0, stddev), b.type(inputs[0]).dtype));
}

ValueId build_dropout(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double rate = args.require_real("rate", config::between(0, 1));
  const std::int64_t stream = read_stream(scope, args);
  if (rate == 1) {
    fail_at(args.at(), "{}: rate is 1, a noise without bounds; give less", args.what());
  }
  if (!scope.training() || rate == 0) return inputs[0];
  const Shape shape = b.shape(inputs[0]);
  const double stddev = std::sqrt(rate / (1 - rate));
  return ops::multiply(
      b, inputs[0],
      ops::cast(b, draw_normal(scope, stream, shape, 1, stddev), b.type(inputs[0]).dtype));
}

}  // namespace

const LayerDef kGaussianDropout{
    .names = {"GaussianDropout"}, .build = build_dropout, .passes_mask = true};
const LayerDef kGaussianNoise{
    .names = {"GaussianNoise"}, .build = build_noise, .passes_mask = true};

}  // namespace meshwork::layers

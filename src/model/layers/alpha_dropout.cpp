// y = a x + b with probability 1 - rate, else a m + b, where m is the bound of SELU below: keeps
// mean 0 and variance 1 (Klambauer et al. 2017); in training only
#include <cmath>

#include "model/layers/layer.h"
#include "model/layers/noise.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

constexpr double kBound = -1.6732632423543772 * 1.0507009873554805;

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double rate = args.require_real("rate", config::between(0, 1));
  const std::int64_t stream = read_stream(scope, args);
  const Shape mask = read_noise_shape(args, b.shape(inputs[0]));
  if (rate == 1) fail_at(args.at(), "{}: rate is 1, which keeps nothing; give less", args.what());
  if (!scope.training() || rate == 0) return inputs[0];
  const double slope = 1 / std::sqrt((1 - rate) * (1 + rate * kBound * kBound));
  const ValueId u = draw_uniform(scope, stream, mask);
  const ValueId keep = ops::greater_equal(b, u, ops::constant(b, rate));
  const ValueId kept = ops::select(b, keep, inputs[0], ops::constant_like(b, kBound, inputs[0]));
  return ops::shift(b, ops::scale(b, kept, slope), -slope * kBound * rate);
}

}  // namespace

const LayerDef kAlphaDropout{.names = {"AlphaDropout"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers

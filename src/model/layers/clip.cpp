// x where it lies in [x_min, x_max], else the nearer bound; null is no bound. At a bound half of
// the gradient passes.
#include "model/arguments.h"
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const std::optional<double> low = args.get_real("x_min"), high = args.get_real("x_max");
  if (!low && !high) {
    fail_at(args.at(), "{}: it has no bound; give x_min, x_max or both", args.what());
  }
  if (low && high && *low > *high) {
    fail_at(args.at(), "{}: x_min is {}, above x_max, {}", args.what(), *low, *high);
  }
  ValueId y = to_real(scope, inputs[0]);
  if (low) y = ops::maximum(b, y, ops::constant_like(b, *low, y));
  if (high) y = ops::minimum(b, y, ops::constant_like(b, *high, y));
  return give(scope, args, y);
}

}  // namespace

const LayerDef kClip{.names = {"Clip"},
                     .build = build,
                     .takes_any_dtype = true,
                     .module = kNumpyOperations,
                     .written_defaults = {{"x_min", std::nullopt}, {"x_max", std::nullopt}}};

}  // namespace meshwork::layers

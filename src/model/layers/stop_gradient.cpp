// y = x, whose gradient ends here
#include "model/layers/operation.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const ValueId y = b.add(ops::kReshape, {x}, {{"shape", b.shape(x)}, {"stops_gradient", true}});
  return give(scope, args, y);
}

}  // namespace

const LayerDef kStopGradient{.names = {"StopGradient"},
                             .build = build,
                             .takes_any_dtype = true,
                             .module = "keras.src.ops.core"};

}  // namespace meshwork::layers

// y = scale x + offset
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double scale = args.require("scale").as_real("scale");
  const double offset = args.get("offset", 0.0);
  const ValueId y = ops::scale(b, inputs[0], scale);
  return offset == 0 ? y : ops::shift(b, y, offset);
}

}  // namespace

const LayerDef kRescaling{.names = {"Rescaling"}, .build = build, .passes_mask = true};

}  // namespace meshwork::layers

// y = x, 0 at positions all of whose features are `mask_value`, which do not count from here on
#include "model/layers/masks.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const double value = args.get("mask_value", 0.0);
  const auto last = static_cast<std::int64_t>(b.shape(inputs[0]).size()) - 1;
  if (last < 1) {
    fail_at(args.at(), "{} needs samples of one dimension or more; put a Reshape before it",
            args.what());
  }
  const ValueId mask = ops::reduce_max(b, differs(b, inputs[0], value), {last}, false);
  scope.set_mask(mask);
  return where(b, mask, inputs[0], 0);
}

}  // namespace

const LayerDef kMasking{.names = {"Masking"}, .build = build};

}  // namespace meshwork::layers

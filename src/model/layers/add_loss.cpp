// y = x, of which `weight` times the mean over the samples of what each adds up to is part of the
// loss
#include "model/layers/layer.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const double weight = args.get("weight", 1.0);
  if (const config::Value* dtype = args.find("dtype")) {
    fail_at(dtype->at,
            "{}: it gives its input on as it is, and adds up in float32; leave dtype out",
            args.what());
  }
  scope.penalize(inputs[0], [weight](GraphBuilder& b, ValueId x) {
    return ops::scale(b, sum_all(b, x), weight);
  });
  scope.set_output_dtype(scope.builder().type(inputs[0]).dtype);
  return inputs[0];
}

}  // namespace

const LayerDef kAddLoss{.names = {"AddLoss"},
                        .build = build,
                        .takes_any_dtype = true,
                        .passes_mask = true,
                        .takes_any_rank = true,
                        .may_be_untaken = true,
                        .module = ""};

}  // namespace meshwork::layers

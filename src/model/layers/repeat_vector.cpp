// [batch, features] -> [batch, n, features]
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  const std::int64_t count = args.require_integer("n", config::at_least(1));
  if (shape.size() != 2) {
    fail_at(args.at(), "{} needs samples of one dimension, not {}; put a Flatten before it",
            args.what(), sample_shape(shape));
  }
  const Shape result = {shape[0], count, shape[1]};
  if (checked_elements(result) < 0) {
    fail_at(args.at(), "{}: its output would have more than 2^46 elements", args.what());
  }
  const ValueId one = ops::reshape(b, inputs[0], {shape[0], 1, shape[1]});
  return ops::broadcast_to(b, one, result);
}

}  // namespace

const LayerDef kRepeatVector{.names = {"RepeatVector"}, .build = build};

}  // namespace meshwork::layers

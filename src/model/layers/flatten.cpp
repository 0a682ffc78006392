// [batch, a, b, ..] -> [batch, a b ..]
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The channels of channels_first data moved to the end, as Keras orders a flattened sample.
ValueId channels_last(GraphBuilder& b, ValueId x) {
  const auto rank = static_cast<std::int64_t>(b.shape(x).size());
  if (rank < 3) return x;
  std::vector<std::int64_t> perm = {0};
  for (std::int64_t d = 2; d < rank; ++d) perm.push_back(d);
  perm.push_back(1);
  return ops::transpose(b, x, std::move(perm));
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const bool are_first =
      args.choose("data_format", false, {{"channels_last", false}, {"channels_first", true}});
  const ValueId x = are_first ? channels_last(b, inputs[0]) : inputs[0];
  const Shape shape = b.shape(x);
  const Shape sample(shape.begin() + 1, shape.end());
  return ops::reshape(b, x, {shape[0], num_elements(sample)});
}

}  // namespace

const LayerDef kFlatten{.names = {"Flatten"}, .build = build};

}  // namespace meshwork::layers

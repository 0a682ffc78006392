// GlobalAveragePooling and GlobalMaxPooling: the mean and the greatest element over all of space
#include "model/arguments.h"
#include "model/layers/masks.h"
#include "model/layers/spatial.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

using Reduce = ValueId (*)(GraphBuilder&, ValueId, std::vector<std::int64_t>, bool);

template <std::size_t kRank, Reduce kReduce>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  read_extents(scope, args, inputs[0], kRank);
  std::vector<std::int64_t> axes;
  for (std::size_t i = 1; i <= kRank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return kReduce(scope.builder(), inputs[0], std::move(axes), args.get("keepdims", false));
}

/// The mean over the steps that count; 0 where none does.
ValueId build_average_1d(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const ValueId mask = scope.mask(0);
  scope.set_mask(kNoValue);
  if (mask == kNoValue) return build<1, ops::reduce_mean>(scope, args, inputs);
  GraphBuilder& b = scope.builder();
  read_extents(scope, args, inputs[0], 1);
  if (b.shape(mask).size() != 2) {
    fail_at(args.at(),
            "{}: its input has a mask of samples {}, and it needs one number for each step; put a "
            "recurrent layer before it, or the pooling inside a TimeDistributed",
            args.what(), sample_shape(b.shape(mask)));
  }
  const bool keepdims = args.get("keepdims", false);
  const ValueId sum = ops::reduce_sum(b, where(b, mask, inputs[0], 0), {1}, keepdims);
  const ValueId count = ops::reduce_sum(b, spread_mask(b, mask, inputs[0]), {1}, keepdims);
  return ops::divide(b, sum, ops::maximum(b, count, ops::constant(b, 1.0)));
}

}  // namespace

const LayerDef kGlobalAveragePooling1D{.names = {"GlobalAveragePooling1D", "GlobalAvgPool1D"},
                                       .build = build_average_1d,
                                       .inside = Inside::kFloat32};
const LayerDef kGlobalAveragePooling2D{.names = {"GlobalAveragePooling2D", "GlobalAvgPool2D"},
                                       .build = build<2, ops::reduce_mean>,
                                       .inside = Inside::kFloat32};
const LayerDef kGlobalAveragePooling3D{.names = {"GlobalAveragePooling3D", "GlobalAvgPool3D"},
                                       .build = build<3, ops::reduce_mean>,
                                       .inside = Inside::kFloat32};
const LayerDef kGlobalMaxPooling1D{.names = {"GlobalMaxPooling1D", "GlobalMaxPool1D"},
                                   .build = build<1, ops::reduce_max>};
const LayerDef kGlobalMaxPooling2D{.names = {"GlobalMaxPooling2D", "GlobalMaxPool2D"},
                                   .build = build<2, ops::reduce_max>};
const LayerDef kGlobalMaxPooling3D{.names = {"GlobalMaxPooling3D", "GlobalMaxPool3D"},
                                   .build = build<3, ops::reduce_max>};

}  // namespace meshwork::layers

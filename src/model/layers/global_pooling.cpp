// GlobalAveragePooling and GlobalMaxPooling: the mean and the greatest element over all of space
#include "model/layers/layer.h"
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

}  // namespace

const LayerDef kGlobalAveragePooling1D{.names = {"GlobalAveragePooling1D", "GlobalAvgPool1D"},
                                       .build = build<1, ops::reduce_mean>,
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

// ZeroPadding and Cropping over 1, 2 or 3 dimensions: rows of zeros put around images, or rows cut
// off
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "model/layers/spatial.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The image with `margins` more elements around it, times `sign`.
ValueId widen(GraphBuilder& b, ValueId x, const std::vector<Margin>& margins, std::int64_t sign) {
  Shape shape = b.shape(x);
  Shape low(shape.size(), 0);
  for (std::size_t i = 0; i < margins.size(); ++i) {
    low[i + 1] = sign * margins[i].before;
    shape[i + 1] += sign * (margins[i].before + margins[i].after);
  }
  return b.add(ops::kPad, {x}, {{"low", low}, {"shape", shape}});
}

template <std::size_t kRank>
ValueId build_padding(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  read_extents(scope, args, inputs[0], kRank);
  return widen(scope.builder(), inputs[0], read_margins(args, "padding", kRank, 1), 1);
}

template <std::size_t kRank>
ValueId build_cropping(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  // Keras's defaults: 1 in 1D and 3D, but 0 in 2D.
  const auto margins = read_margins(args, "cropping", kRank, kRank == 2 ? 0 : 1);
  for (std::size_t i = 0; i < kRank; ++i) {
    if (margins[i].before + margins[i].after < extents[i]) continue;
    fail_at(args.at(), "{}: cropping {} and {} of {} leaves nothing of dimension {}", args.what(),
            margins[i].before, margins[i].after, extents[i], i);
  }
  return widen(scope.builder(), inputs[0], margins, -1);
}

}  // namespace

const LayerDef kCropping1D{.names = {"Cropping1D"}, .build = build_cropping<1>};
const LayerDef kCropping2D{.names = {"Cropping2D"}, .build = build_cropping<2>};
const LayerDef kCropping3D{.names = {"Cropping3D"}, .build = build_cropping<3>};
const LayerDef kZeroPadding1D{.names = {"ZeroPadding1D"}, .build = build_padding<1>};
const LayerDef kZeroPadding2D{.names = {"ZeroPadding2D"}, .build = build_padding<2>};
const LayerDef kZeroPadding3D{.names = {"ZeroPadding3D"}, .build = build_padding<3>};

}  // namespace meshwork::layers

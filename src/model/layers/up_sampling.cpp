// UpSampling over 1, 2 or 3 dimensions: `size` elements for each, repeated or interpolated
#include <algorithm>

#include "model/arguments.h"
#include "model/count_along.h"
#include "model/layers/convolution.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

Shape times(const Shape& extents, const Shape& size) {
  Shape result;
  for (std::size_t i = 0; i < extents.size(); ++i) result.push_back(extents[i] * size[i]);
  return result;
}

ValueId repeat(GraphBuilder& b, ValueId x, const Shape& extents, const Shape& size) {
  return b.add(ops::kSumPoolInput, {x},
               {{"window", size},
                {"strides", size},
                {"padding", Shape(size.size(), 0)},
                {"extents", times(extents, size)}});
}

/// What an element counts at a distance: 1 at 0 and 0 from `radius` on.
struct Interpolation {
  ValueId (*weight)(GraphBuilder& b, ValueId distance);
  std::int64_t radius;
};

/// 1 - d
ValueId linear_weight(GraphBuilder& b, ValueId distance) {
  return b.add(ops::kRelu, {ops::one_minus(b, distance)});
}

/// ((c3 d + c2) d + c1) d + c0
ValueId cubic(GraphBuilder& b, ValueId d, double c3, double c2, double c1, double c0) {
  ValueId y = ops::shift(b, ops::scale(b, d, c3), c2);
  y = ops::shift(b, ops::multiply(b, y, d), c1);
  return ops::shift(b, ops::multiply(b, y, d), c0);
}

/// Keys 1981 with a = -1/2, as in JAX
ValueId cubic_weight(GraphBuilder& b, ValueId distance) {
  const auto at_least = [&](double bound) {
    return ops::greater_equal(b, distance, ops::constant(b, bound));
  };
  const ValueId inner = cubic(b, distance, 1.5, -2.5, 0, 1);
  const ValueId outer = cubic(b, distance, -0.5, 2.5, -4, 2);
  const ValueId weight = ops::select(b, at_least(1), outer, inner);
  return b.add(ops::kSelect, {at_least(2), ops::constant(b, 0.0), weight});
}

ValueId weight_at(GraphBuilder& b, const Interpolation& way, ValueId offset) {
  return way.weight(b, ops::abs(b, offset));
}

/// How much of the weight of every result falls on elements of the image: 1 but near its ends.
ValueId weight_within(GraphBuilder& b, const Interpolation& way, const Shape& results,
                      const Shape& size, std::size_t i) {
  const std::int64_t extent = results[i] / size[i];
  const auto factor = static_cast<double>(size[i]);
  // The place of result o among the elements is (o + 1/2) / size - 1/2.
  const ValueId place =
      ops::shift(b, ops::scale(b, positions(b, results, i), 1 / factor), 0.5 / factor - 0.5);
  ValueId within = ops::constant(b, 1.0);
  for (std::int64_t k = 1; k <= way.radius; ++k) {
    for (const std::int64_t outside : {-k, extent - 1 + k}) {
      const ValueId offset = ops::shift(b, place, -static_cast<double>(outside));
      within = ops::subtract(b, within, weight_at(b, way, offset));
    }
  }
  return within;
}

/// The weights of the elements around one along dimension `i`, [1.., window, 1.., 1, 1]: that of
/// result o = element * size - before + k is at a distance of (k - before + 1/2) / size - 1/2.
ValueId weights_along(GraphBuilder& b, const Interpolation& way, const Windows& windows,
                      std::size_t i) {
  const auto factor = static_cast<double>(windows.strides[i]);
  const auto before = static_cast<double>(windows.before[i]);
  const ValueId k = count_along(b, windows.window.size() + 2, i, windows.window[i]);
  return weight_at(b, way,
                   ops::shift(b, ops::scale(b, k, 1 / factor), (0.5 - before) / factor - 0.5));
}

/// Every result is a mean of the elements around its place, weighted by their distance: a
/// transposed convolution of each channel with the weights, so that only neighbours meet.
ValueId interpolate(GraphBuilder& b, ValueId x, const Shape& extents, const Shape& size,
                    const Interpolation& way) {
  const std::size_t rank = extents.size();
  const std::int64_t channels = b.shape(x).back();
  Windows windows{.window = {},
                  .strides = size,
                  .dilations = Shape(rank, 1),
                  .before = {},
                  .results = times(extents, size)};
  for (const std::int64_t factor : size) {
    // An element counts for the results whose place is less than `radius` away.
    const std::int64_t reach = way.radius * factor;
    windows.window.push_back(2 * reach);
    windows.before.push_back(reach - factor / 2);
  }
  ValueId kernel = ops::constant(b, 1.0);
  for (std::size_t i = 0; i < rank; ++i) {
    if (size[i] == 1) {
      windows.window[i] = 1;
      windows.before[i] = 0;
    } else {
      kernel = ops::multiply(b, kernel, weights_along(b, way, windows, i));
    }
  }
  kernel = ops::broadcast_to(b, kernel, kernel_shape(windows, 1, channels));
  ValueId y = b.add(ops::kConvolutionBackwardData, {x, kernel},
                    convolution_attrs(windows, channels, windows.results));
  for (std::size_t i = 0; i < rank; ++i) {
    if (size[i] > 1) y = ops::divide(b, y, weight_within(b, way, windows.results, size, i));
  }
  return y;
}

constexpr Interpolation kLinear{.weight = linear_weight, .radius = 1};
constexpr Interpolation kCubic{.weight = cubic_weight, .radius = 2};

template <std::size_t kRank>
ValueId build_repeat(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  return repeat(scope.builder(), inputs[0], extents, read_numbers(args, "size", kRank, 2));
}

ValueId build_images(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape extents = read_extents(scope, args, inputs[0], 2);
  const Shape size = read_numbers(args, "size", 2, 2);
  const auto* const way = args.choose<const Interpolation*>(
      "interpolation", nullptr,
      {{"nearest", nullptr}, {"bilinear", &kLinear}, {"bicubic", &kCubic}});
  return way == nullptr ? repeat(b, inputs[0], extents, size)
                        : interpolate(b, inputs[0], extents, size, *way);
}

}  // namespace

const LayerDef kUpSampling1D{.names = {"UpSampling1D"}, .build = build_repeat<1>};
const LayerDef kUpSampling2D{
    .names = {"UpSampling2D"}, .build = build_images, .inside = Inside::kFloat32};
const LayerDef kUpSampling3D{.names = {"UpSampling3D"}, .build = build_repeat<3>};

}  // namespace meshwork::layers

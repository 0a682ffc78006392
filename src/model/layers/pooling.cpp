// MaxPooling and AveragePooling over 1, 2 or 3 dimensions: the greatest element and the mean of
// every window, of those elements that the image has
#include <algorithm>

#include "model/layers/layer.h"
#include "model/layers/spatial.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// Windows that reach over the image on both sides see all of it, however much larger they are.
void cut_to_image(Windows& windows, const Shape& extents) {
  if (windows.padding == Padding::kValid) return;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    windows.window[i] = std::min(windows.window[i], 2 * extents[i] + windows.strides[i]);
  }
}

Windows read_windows(config::Reader& args, const Shape& extents, bool size_required) {
  const std::size_t rank = extents.size();
  Windows windows;
  windows.window = read_numbers(args, "pool_size", rank,
                                size_required ? std::nullopt : std::optional<std::int64_t>(2));
  windows.strides =
      args.find("strides") == nullptr ? windows.window : read_numbers(args, "strides", rank, {});
  windows.dilations = Shape(rank, 1);
  windows.padding = read_padding(args);
  cut_to_image(windows, extents);
  place(windows, args, extents);
  return windows;
}

ValueId pool(GraphBuilder& b, const OpDef& op, ValueId x, const Windows& windows) {
  return b.add(op, {x},
               {{"window", windows.window},
                {"strides", windows.strides},
                {"padding", windows.before},
                {"extents", windows.results}});
}

/// How many elements of the image each window has along dimension `i`.
ValueId counts(GraphBuilder& b, const Windows& windows, const Shape& extents, std::size_t i) {
  const auto extent = static_cast<double>(extents[i]);
  const ValueId place = positions(b, windows.results, i);
  const ValueId begin = ops::shift(b, ops::scale(b, place, static_cast<double>(windows.strides[i])),
                                   -static_cast<double>(windows.before[i]));
  const ValueId end = ops::shift(b, begin, static_cast<double>(windows.window[i]));
  const ValueId first = ops::maximum(b, begin, ops::constant(b, 0.0));
  const ValueId last = ops::minimum(b, end, ops::constant(b, extent));
  return ops::subtract(b, last, first);
}

/// Whether every window along dimension `i` lies within the image.
bool is_full(const Windows& windows, const Shape& extents, std::size_t i) {
  const std::int64_t last = (windows.results[i] - 1) * windows.strides[i] - windows.before[i];
  return windows.before[i] == 0 && last + windows.window[i] <= extents[i];
}

ValueId mean(GraphBuilder& b, ValueId x, const Windows& windows, const Shape& extents) {
  ValueId y = pool(b, ops::kSumPool, x, windows);
  double full = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (is_full(windows, extents, i)) {
      full *= static_cast<double>(windows.window[i]);
    } else {
      y = ops::divide(b, y, counts(b, windows, extents, i));
    }
  }
  return full == 1 ? y : ops::scale(b, y, 1 / full);
}

template <std::size_t kRank>
ValueId build_max(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  return pool(scope.builder(), ops::kMaxPool, inputs[0], read_windows(args, extents, false));
}

template <std::size_t kRank>
ValueId build_average(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const Shape extents = read_extents(scope, args, inputs[0], kRank);
  return mean(scope.builder(), inputs[0], read_windows(args, extents, true), extents);
}

}  // namespace

const LayerDef kAveragePooling1D{.names = {"AveragePooling1D", "AvgPool1D"},
                                 .build = build_average<1>,
                                 .inside = Inside::kFloat32};
const LayerDef kAveragePooling2D{.names = {"AveragePooling2D", "AvgPool2D"},
                                 .build = build_average<2>,
                                 .inside = Inside::kFloat32};
const LayerDef kAveragePooling3D{.names = {"AveragePooling3D", "AvgPool3D"},
                                 .build = build_average<3>,
                                 .inside = Inside::kFloat32};
const LayerDef kMaxPooling1D{.names = {"MaxPooling1D", "MaxPool1D"}, .build = build_max<1>};
const LayerDef kMaxPooling2D{.names = {"MaxPooling2D", "MaxPool2D"}, .build = build_max<2>};
const LayerDef kMaxPooling3D{.names = {"MaxPooling3D", "MaxPool3D"}, .build = build_max<3>};

}  // namespace meshwork::layers

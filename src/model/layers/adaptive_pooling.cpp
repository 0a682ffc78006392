// AdaptiveAveragePooling and AdaptiveMaxPooling: result i of m along a dimension of n elements is
// the mean, or the greatest, of the elements from floor(i n / m) up to ceil((i + 1) n / m). As in
// Keras, one dimension after the other.
#include <numeric>

#include "model/layers/layer.h"
#include "model/layers/spatial.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

constexpr std::int64_t kMostPhases = 1024;  // each a pool of its own

/// Windows of one extent, side by side along spatial dimension `dim`.
struct Row {
  std::size_t dim = 0;
  std::int64_t first = 0;  ///< element of the first window
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t count = 1;
};

/// The elements from the first of a row to its last.
ValueId slice(GraphBuilder& b, ValueId x, const Row& row) {
  const std::int64_t size = (row.count - 1) * row.stride + row.window;
  if (size == b.shape(x)[row.dim + 1]) return x;
  const auto axis = static_cast<std::int64_t>(row.dim + 1);
  return b.add(ops::kSlice, {x}, {{"axis", axis}, {"start", row.first}, {"size", size}});
}

ValueId pool(GraphBuilder& b, const OpDef& op, ValueId x, const Row& row) {
  x = slice(b, x, row);
  if (row.window == 1 && row.stride == 1) return x;
  Shape extents{b.shape(x).begin() + 1, b.shape(x).end() - 1};
  extents[row.dim] = row.count;
  Shape window(extents.size(), 1);
  Shape strides(extents.size(), 1);
  window[row.dim] = row.window;
  strides[row.dim] = row.stride;
  const Shape padding(extents.size(), 0);
  const ValueId y =
      b.add(op, {x},
            {{"window", window}, {"strides", strides}, {"padding", padding}, {"extents", extents}});
  return &op == &ops::kSumPool ? ops::scale(b, y, 1 / static_cast<double>(row.window)) : y;
}

/// The same with spatial dimension `dim` of n as [n, 1].
ValueId with_phase(GraphBuilder& b, ValueId x, std::size_t dim) {
  Shape shape = b.shape(x);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 2, 1);
  return ops::reshape(b, x, shape);
}

/// Where n / m = stride / phases in lowest terms, the windows `phases` apart are of one extent, and
/// `stride` elements apart.
ValueId pool_dim(GraphBuilder& b, const OpDef& op, ValueId x, std::size_t dim, std::int64_t m) {
  Shape shape = b.shape(x);
  const std::int64_t n = shape[dim + 1];
  const std::int64_t count = std::gcd(n, m);
  const std::int64_t stride = n / count;
  const std::int64_t phases = m / count;
  const auto row = [&](std::int64_t phase) {
    const std::int64_t begin = phase * stride / phases;
    const std::int64_t end = ((phase + 1) * stride + phases - 1) / phases;
    return Row{dim, begin, end - begin, stride, count};
  };
  if (phases == 1) return pool(b, op, x, row(0));
  std::vector<ValueId> results;
  for (std::int64_t phase = 0; phase < phases; ++phase) {
    results.push_back(with_phase(b, pool(b, op, x, row(phase)), dim));
  }
  const auto axis = static_cast<std::int64_t>(dim + 2);
  shape[dim + 1] = m;
  return ops::reshape(b, b.add(ops::kConcatenate, std::move(results), {{"axis", axis}}), shape);
}

void check_phases(config::Reader& args, const Shape& extents, const Shape& sizes) {
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const std::int64_t phases = sizes[dim] / std::gcd(extents[dim], sizes[dim]);
    if (phases <= kMostPhases) continue;
    fail_at(
        args.require("output_size").at,
        "{}: output_size {} of {} elements makes {} kinds of windows, and {} are the most; give "
        "one that has a greater divisor in common with {}",
        args.what(), sizes[dim], extents[dim], phases, kMostPhases, extents[dim]);
  }
}

template <std::size_t kRank>
ValueId build(Scope& scope, config::Reader& args, ValueId x, const OpDef& op) {
  const Shape extents = read_extents(scope, args, x, kRank);
  const Shape sizes = read_numbers(args, "output_size", kRank, {});
  check_phases(args, extents, sizes);
  for (std::size_t dim = 0; dim < kRank; ++dim) {
    x = pool_dim(scope.builder(), op, x, dim, sizes[dim]);
  }
  return x;
}

template <std::size_t kRank>
ValueId build_average(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  return build<kRank>(scope, args, inputs[0], ops::kSumPool);
}

template <std::size_t kRank>
ValueId build_max(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  return build<kRank>(scope, args, inputs[0], ops::kMaxPool);
}

}  // namespace

const LayerDef kAdaptiveAveragePooling1D{
    .names = {"AdaptiveAveragePooling1D"}, .build = build_average<1>, .inside = Inside::kFloat32};
const LayerDef kAdaptiveAveragePooling2D{
    .names = {"AdaptiveAveragePooling2D"}, .build = build_average<2>, .inside = Inside::kFloat32};
const LayerDef kAdaptiveAveragePooling3D{
    .names = {"AdaptiveAveragePooling3D"}, .build = build_average<3>, .inside = Inside::kFloat32};
const LayerDef kAdaptiveMaxPooling1D{.names = {"AdaptiveMaxPooling1D"}, .build = build_max<1>};
const LayerDef kAdaptiveMaxPooling2D{.names = {"AdaptiveMaxPooling2D"}, .build = build_max<2>};
const LayerDef kAdaptiveMaxPooling3D{.names = {"AdaptiveMaxPooling3D"}, .build = build_max<3>};

}  // namespace meshwork::layers

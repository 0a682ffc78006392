// Convolutions, pools and padding, with windows of every kind: strides shorter, as long as and
// longer than the window, even and odd padding on either side, padding wider than the window,
// windows wider than the image, dilation, groups, extents of one and of zero.
#include "ops/case_lists.h"

namespace meshwork {
namespace {

using Integers = std::vector<std::int64_t>;

struct Geometry {
  Shape x;
  Shape w;  ///< of a convolution the kernel, of a pool the window
  Integers strides, low, high;
  Integers dilations = {};  ///< {}: 1
  std::int64_t groups = 1;
};

Geometry with_ones(Geometry g) {
  if (g.dilations.empty()) g.dilations.assign(g.strides.size(), 1);
  return g;
}

/// Extents of the result.
Shape extents_of(const Geometry& g) {
  Shape extents;
  for (std::size_t i = 0; i < g.strides.size(); ++i) {
    const std::int64_t span = (g.w[i] - 1) * g.dilations[i] + 1;
    extents.push_back((g.x[i + 1] + g.low[i] + g.high[i] - span) / g.strides[i] + 1);
  }
  return extents;
}

Shape image(std::int64_t count, const Shape& extents, std::int64_t channels) {
  Shape shape{count};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(channels);
  return shape;
}

Shape inner(const Shape& x) { return {x.begin() + 1, x.end() - 1}; }

const std::vector<Geometry>& convolutions() {
  static const std::vector<Geometry> list{
      {{2, 5, 6, 3}, {3, 3, 3, 4}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 7, 5, 2}, {3, 3, 2, 3}, {2, 2}, {1, 1}, {1, 1}},
      {{1, 7, 8, 2}, {6, 6, 2, 3}, {2, 2}, {2, 2}, {3, 2}},
      {{1, 8, 7, 1}, {2, 2, 1, 3}, {3, 3}, {0, 0}, {0, 0}},
      {{2, 6, 5, 2}, {3, 2, 2, 2}, {2, 1}, {0, 0}, {0, 0}},
      {{1, 4, 5, 2}, {3, 3, 2, 2}, {1, 2}, {2, 0}, {0, 3}},
      {{1, 6, 7, 2}, {3, 3, 2, 2}, {1, 1}, {2, 2}, {2, 2}, {2, 2}},
      {{1, 9, 6, 1}, {3, 2, 1, 2}, {2, 3}, {1, 1}, {2, 0}, {2, 3}},
      {{2, 4, 5, 4}, {3, 3, 2, 6}, {1, 1}, {1, 1}, {1, 1}, {}, 2},
      {{1, 5, 5, 6}, {3, 3, 2, 3}, {2, 2}, {1, 1}, {1, 1}, {}, 3},
      {{2, 5, 4, 3}, {3, 3, 1, 3}, {1, 1}, {1, 1}, {1, 1}, {}, 3},
      {{1, 5, 5, 3}, {3, 3, 1, 6}, {2, 2}, {1, 1}, {1, 1}, {}, 3},
      {{2, 5, 5, 3}, {1, 1, 3, 4}, {2, 2}, {0, 0}, {0, 0}},
      {{1, 3, 3, 2}, {1, 1, 2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{2, 3, 2, 2}, {5, 5, 2, 2}, {1, 1}, {2, 2}, {2, 2}},
      {{1, 3, 4, 1}, {2, 2, 1, 2}, {1, 1}, {3, 0}, {0, 4}},
      {{3, 1, 1, 2}, {1, 1, 2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {{1, 1, 5, 1}, {1, 3, 1, 1}, {1, 2}, {0, 1}, {0, 1}},
      {{1, 11, 13, 1}, {3, 3, 1, 2}, {1, 1}, {1, 1}, {1, 1}},
      {{2, 9, 3}, {3, 3, 4}, {2}, {1}, {1}},
      {{1, 7, 2}, {3, 2, 2}, {1}, {4}, {0}, {2}},
      {{1, 3, 4, 3, 2}, {2, 3, 2, 2, 2}, {1, 2, 1}, {1, 1, 0}, {0, 1, 1}},
      {{0, 4, 4, 2}, {3, 3, 2, 2}, {1, 1}, {1, 1}, {1, 1}},
  };
  return list;
}

void add_convolutions(std::vector<OpCase>& cases) {
  for (const Geometry& listed : convolutions()) {
    const Geometry g = with_ones(listed);
    const Shape y = image(g.x[0], extents_of(g), g.w.back());
    const auto attrs = [&](const Shape& extents) {
      return Attrs{{"strides", g.strides},
                   {"padding", g.low},
                   {"dilations", g.dilations},
                   {"groups", g.groups},
                   {"extents", extents}};
    };
    const Shape kernel(g.w.begin(), g.w.end() - 2);
    cases.push_back(make_case(ops::kConvolution, {uniform(g.x), uniform(g.w)}, attrs(inner(y)),
                              float32(y), {0, 1}));
    cases.push_back(make_case(ops::kConvolutionBackwardData, {uniform(y), uniform(g.w)},
                              attrs(inner(g.x)), float32(g.x), {0, 1}));
    cases.push_back(make_case(ops::kConvolutionBackwardFilter, {uniform(g.x), uniform(y)},
                              attrs(kernel), float32(g.w), {0, 1}));
  }
}

void add_pools(std::vector<OpCase>& cases) {
  const std::vector<Geometry> list{
      {{2, 6, 4, 3}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
      {{2, 5, 7, 2}, {3, 3}, {2, 2}, {1, 1}, {1, 1}},
      {{1, 5, 6, 2}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 7, 8, 1}, {2, 2}, {3, 3}, {0, 0}, {0, 0}},
      {{1, 4, 6, 2}, {2, 3}, {1, 3}, {0, 2}, {1, 1}},
      {{2, 3, 3, 2}, {3, 3}, {1, 1}, {0, 0}, {0, 0}},
      {{1, 2, 3, 2}, {5, 5}, {2, 1}, {2, 2}, {3, 2}},
      {{1, 13, 3, 1}, {2, 1}, {2, 1}, {0, 0}, {1, 0}},
      {{3, 1, 1, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {{2, 9, 3}, {4}, {2}, {1}, {2}},
      {{1, 4, 3, 4, 2}, {2, 2, 3}, {2, 1, 2}, {0, 1, 1}, {0, 0, 1}},
      {{0, 4, 4, 2}, {2, 2}, {2, 2}, {0, 0}, {0, 0}},
  };
  for (const Geometry& listed : list) {
    const Geometry g = with_ones(listed);
    const Shape y = image(g.x[0], extents_of(g), g.x.back());
    const auto attrs = [&](const Shape& extents) {
      return Attrs{
          {"window", g.w}, {"strides", g.strides}, {"padding", g.low}, {"extents", extents}};
    };
    cases.push_back(make_case(ops::kMaxPool, {distinct(g.x)}, attrs(inner(y)), float32(y), {0}));
    cases.push_back(make_case(ops::kMaxPoolInput, {distinct(g.x), uniform(y)}, attrs(inner(g.x)),
                              float32(g.x)));
    // Ties: the first of the greatest elements counts.
    cases.push_back(make_case(ops::kMaxPoolInput,
                              {integers(DType::kFloat32, g.x, 0, 2), uniform(y)}, attrs(inner(g.x)),
                              float32(g.x)));
    cases.back().name += " with ties";
    cases.push_back(make_case(ops::kSumPool, {uniform(g.x)}, attrs(inner(y)), float32(y), {0}));
    cases.push_back(
        make_case(ops::kSumPoolInput, {uniform(y)}, attrs(inner(g.x)), float32(g.x), {0}));
  }
}

struct Padding {
  Shape x;
  Integers low;
  Shape y;
};

void add_paddings(std::vector<OpCase>& cases) {
  const std::vector<Padding> list{
      {{5}, {2}, {9}},
      {{5}, {-2}, {2}},
      {{4}, {6}, {5}},
      {{2, 3, 4, 2}, {0, 1, 2, 0}, {2, 6, 7, 2}},
      {{2, 5, 6, 1}, {0, -1, 2, 0}, {2, 3, 9, 1}},
      {{1, 7, 3}, {0, 3, 0}, {1, 7, 3}},
      {{3, 2}, {0, 0}, {3, 2}},
      {{3, 2}, {-1, 1}, {1, 4}},
      {{0, 3}, {0, 1}, {0, 5}},
      {{3, 0}, {0, 1}, {3, 2}},
      {{2, 3}, {0, -3}, {2, 0}},
  };
  for (const Padding& p : list) {
    const Attrs attrs{{"low", p.low}, {"shape", p.y}};
    cases.push_back(make_case(ops::kPad, {uniform(p.x)}, attrs, float32(p.y), {0}));
  }
  cases.push_back(make_case(ops::kPad, {integers(DType::kUInt8, {2, 4, 3}, 1, 9)},
                            {{"low", Integers{0, 1, -1}}, {"shape", Shape{2, 7, 3}}},
                            {DType::kUInt8, {2, 7, 3}}));
}

void add_per_channel(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, std::int64_t>> list{
      {{4, 3}, 1},    {{4, 3}, 0},        {{5}, 0},    {{2, 3, 4, 5}, 3}, {{2, 3, 4}, 1},
      {{2, 5, 1}, 2}, {{1, 1, 1, 17}, 3}, {{0, 3}, 1}, {{3, 0}, 1},       {{2, 3, 3, 2, 3}, 4},
  };
  for (const auto& [shape, axis] : list) {
    const Attrs attrs{{"axis", axis}};
    const Shape channels{shape[static_cast<std::size_t>(axis)]};
    const TensorType sums = float32({2, channels[0]});
    cases.push_back(make_case(ops::kShiftedSums, {uniform(shape), uniform(channels)}, attrs,
                              float32({3, channels[0]}), {0}));
    cases.push_back(make_case(ops::kChannelMoments, {uniform(shape)},
                              {{"axis", axis}, {"factor", 0.125}}, float32({4, channels[0]})));
    cases.push_back(make_case(ops::kScaleOffset,
                              {uniform(shape), uniform(channels), uniform(channels)}, attrs,
                              float32(shape), {0, 1, 2}));
    cases.push_back(
        make_case(ops::kScaleOffsetSums, {uniform(shape), uniform(shape)}, attrs, sums));
  }
}

}  // namespace

std::vector<OpCase> window_cases() {
  std::vector<OpCase> cases;
  add_convolutions(cases);
  add_pools(cases);
  add_paddings(cases);
  add_per_channel(cases);
  return cases;
}

}  // namespace meshwork

// Attention: one head and several, groups of heads that share keys, as many keys as queries, fewer
// and more, causality, windows, masks of every shape, dropout, queries of a part of a
// sequence, segments in any order, extents of zero; halves of features that are turned.
#include "graph/attention_options.h"
#include "ops/case_lists.h"

namespace meshwork {
namespace {

struct Geometry {
  std::int64_t b, t, g, r, d, s, e;
  AttentionOptions options = {.scale = 0.5};
  Shape mask = {};
  std::int64_t least_shift = 0, most_shift = 0;  // drawn in between, where queries are shifted
  std::int64_t most_segment = 0;                 // drawn from 0, where there are segments
};

const std::vector<Geometry>& geometries() {
  static const std::vector<Geometry> list{
      {2, 4, 2, 1, 3, 4, 3},
      {1, 3, 1, 1, 2, 5, 4},
      {2, 5, 2, 2, 2, 3, 3, {.scale = 1.5}},
      {1, 4, 3, 2, 3, 4, 2, {.scale = 0.7, .causal = true}},
      {2, 3, 1, 2, 2, 6, 2, {.scale = 0.5, .causal = true}},
      {1, 6, 2, 1, 2, 6, 2, {.scale = 0.5, .window = 2}},
      {1, 5, 1, 1, 3, 7, 2, {.scale = 0.5, .causal = true, .window = 3}},
      {3, 4, 2, 1, 2, 4, 2, {.scale = 0.5}, {3, 1, 1, 1, 4}},
      {2, 3, 2, 2, 2, 4, 3, {.scale = 0.5}, {2, 3, 2, 2, 4}},
      {2, 4, 1, 3, 2, 4, 2, {.scale = 0.5, .causal = true}, {1, 4, 1, 3, 4}},
      {2, 4, 2, 1, 2, 4, 2, {.scale = 0.5, .rate = 0.4, .key = 9}},
      {2,
       5,
       2,
       2,
       3,
       3,
       2,
       {.scale = 0.5, .causal = true, .rate = 0.3, .key = -4},
       {2, 1, 2, 1, 3}},
      // A part of a sequence whose keys were there before.
      {3, 2, 2, 1, 3, 7, 2, {.scale = 0.5, .causal = true, .shifted = true}, {}, 0, 5},
      {2, 1, 1, 3, 2, 6, 2, {.scale = 0.5, .causal = true, .window = 2, .shifted = true}, {}, 1, 5},
      {2,
       3,
       2,
       1,
       2,
       5,
       2,
       {.scale = 0.5, .causal = true, .shifted = true},
       {2, 1, 1, 1, 5},
       -2,
       9},
      // Texts beside each other.
      {.b = 2,
       .t = 5,
       .g = 2,
       .r = 2,
       .d = 3,
       .s = 5,
       .e = 2,
       .options = {.scale = 0.5, .causal = true, .segmented = true},
       .most_segment = 2},
      {.b = 2,
       .t = 4,
       .g = 1,
       .r = 1,
       .d = 2,
       .s = 6,
       .e = 3,
       .options = {.scale = 0.7, .window = 3, .rate = 0.3, .key = 5, .segmented = true},
       .mask = {2, 1, 1, 1, 6},
       .most_segment = 1},
      {.b = 1,
       .t = 130,
       .g = 1,
       .r = 1,
       .d = 2,
       .s = 530,
       .e = 1,
       .options = {.scale = 0.5, .segmented = true},
       .most_segment = 40},
      {1, 1, 1, 1, 1, 1, 1},
      {0, 2, 1, 1, 2, 2, 2},
      {2, 0, 1, 1, 2, 3, 2},
      {2, 3, 1, 1, 2, 0, 2},
      // More than a block of a fast kernel holds.
      {1, 70, 1, 1, 2, 66, 1, {.scale = 0.5, .causal = true}},
      {1, 2, 1, 1, 1, 530, 2, {.scale = 0.5}, {1, 2, 1, 1, 530}},
  };
  return list;
}

void add_cases(const Geometry& x, std::vector<OpCase>& cases) {
  const Shape lines{x.b, x.t, x.g, x.r};
  const auto with = [](Shape shape, std::int64_t last) {
    shape.push_back(last);
    return shape;
  };
  const Shape q = with(lines, x.d), y = with(lines, x.e);
  const Shape k{x.b, x.s, x.g, x.d}, v{x.b, x.s, x.g, x.e};
  Attrs attrs = attention_attrs(x.options);
  const auto add = [&](const OpDef& op, std::vector<CaseInput> inputs, const Shape& output,
                       bool draws, std::vector<std::size_t> differentiable = {}) {
    if (!x.mask.empty()) inputs.push_back(integers(DType::kFloat32, x.mask, 0, 1));
    if (draws && x.options.rate != 0) inputs.push_back(integers(DType::kInt64, {}, 3, 3));
    if (x.options.shifted) {
      inputs.push_back(integers(DType::kInt32, {x.b}, static_cast<double>(x.least_shift),
                                static_cast<double>(x.most_shift)));
    }
    if (x.options.segmented) {
      const auto most = static_cast<double>(x.most_segment);
      for (const std::int64_t steps : {x.t, x.s}) {
        inputs.push_back(integers(DType::kInt32, {x.b, steps}, 0, most));
      }
    }
    cases.push_back(
        make_case(op, std::move(inputs), attrs, float32(output), std::move(differentiable)));
  };
  add(ops::kAttention, {uniform(q), uniform(k), uniform(v)}, y, true, {0, 1, 2});
  add(ops::kAttentionLogSum, {uniform(q), uniform(k), uniform(v)}, lines, true);
  const std::vector<CaseInput> known{uniform(q), uniform(k),           uniform(v),
                                     uniform(y), uniform(lines, 0, 2), uniform(lines)};
  const auto add_gradients = [&](const std::vector<CaseInput>& operands) {
    add(ops::kAttentionQueryGradient, operands, q, true);
    add(ops::kAttentionKeyGradient, operands, k, true);
    add(ops::kAttentionValueGradient, operands, v, true);
  };
  add_gradients(known);
  const Shape by_head = log_sum_shape(q, true);
  attrs.set("by_head", true);
  add(ops::kAttentionLogSum, {uniform(q), uniform(k), uniform(v)}, by_head, true);
  attrs.set("with_result", true);
  add_gradients(
      {uniform(q), uniform(k), uniform(v), uniform(y), uniform(by_head, 0, 2), uniform(y)});
}

/// Angles that all samples and heads share, those of each sample, of each element; halves along
/// other dimensions than the last.
void add_rotary(std::vector<OpCase>& cases) {
  struct Turned {
    Shape x, angles;
    std::int64_t axis;
  };
  const std::vector<Turned> list{
      {{2, 5, 3, 8}, {1, 5, 1, 4}, 3}, {{3, 4, 1, 6}, {3, 4, 1, 3}, 3}, {{4, 6}, {4, 3}, 1},
      {{2, 3, 2}, {1, 3, 1}, 2},       {{2, 6, 4, 3}, {1, 3, 4, 1}, 1}, {{6, 2, 3}, {3, 1, 3}, 0},
      {{0, 3, 4}, {1, 3, 2}, 2},       {{3, 7, 70}, {1, 7, 35}, 2}};
  for (const auto& [x, angles, axis] : list) {
    for (const bool inverse : {false, true}) {
      cases.push_back(make_case(ops::kRotary, {uniform(x), uniform(angles), uniform(angles)},
                                {{"axis", axis}, {"inverse", inverse}}, float32(x), {0, 1, 2}));
    }
  }
}

}  // namespace

std::vector<OpCase> attention_cases() {
  std::vector<OpCase> cases;
  add_rotary(cases);
  for (const Geometry& geometry : geometries()) add_cases(geometry, cases);
  return cases;
}

}  // namespace meshwork

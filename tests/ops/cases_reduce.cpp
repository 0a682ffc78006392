#include "ops/case_lists.h"

namespace meshwork {
namespace {

using Axes = std::vector<std::int64_t>;

struct Reduction {
  Shape shape;
  Axes axes;
  bool keepdims;
  Shape result;
};

void add_reductions(std::vector<OpCase>& cases) {
  const std::vector<Reduction> list{
      {{6}, {0}, false, {}},
      {{6}, {0}, true, {1}},
      {{3, 5}, {0}, false, {5}},
      {{3, 5}, {1}, false, {3}},
      {{3, 5}, {1}, true, {3, 1}},
      {{3, 5}, {0, 1}, false, {}},
      {{2, 3, 4}, {1}, false, {2, 4}},
      {{2, 3, 4}, {0, 2}, true, {1, 3, 1}},
      {{2, 3, 4}, {2, 0}, false, {3}},
      {{2, 3, 4, 2}, {1, 2}, false, {2, 2}},
      {{2, 3, 4, 2}, {0, 1, 2}, false, {2}},
      {{4, 1, 3}, {1}, false, {4, 3}},
      {{37, 41}, {0}, false, {41}},
      {{37, 41}, {1}, true, {37, 1}},
  };
  for (const Reduction& r : list) {
    const Attrs attrs{{"axes", r.axes}, {"keepdims", r.keepdims}};
    cases.push_back(make_case(ops::kReduceSum, {uniform(r.shape)}, attrs, float32(r.result), {0}));
    cases.push_back(make_case(ops::kReduceMax, {distinct(r.shape)}, attrs, float32(r.result), {0}));
    cases.push_back(
        make_case(ops::kSumOfSquares, {uniform(r.shape)}, attrs, float32(r.result), {0}));
    Attrs scaled = attrs;
    scaled.set("factor", -0.3);
    cases.push_back(make_case(ops::kScaledSum, {uniform(r.shape)}, scaled, float32(r.result), {0}));
  }
  const Attrs last{{"axes", Axes{1}}, {"keepdims", false}};
  cases.push_back(make_case(ops::kReduceSum, {uniform({3, 0})}, last, float32({3}), {0}));
  cases.push_back(make_case(ops::kSumOfSquares, {uniform({3, 0})}, last, float32({3}), {0}));
  cases.push_back(make_case(ops::kReduceMax, {uniform({0, 3})}, last, float32({0}), {0}));
  cases.push_back(make_case(ops::kReduceMax, {integers(DType::kInt32, {3, 5}, -9, 9)}, last,
                            {DType::kInt32, {3}}));
}

void add_along_axis(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, std::int64_t>> list{
      {{5}, 0},          {{3, 5}, 1}, {{3, 5}, 0}, {{2, 4, 3}, 1},
      {{2, 3, 2, 5}, 3}, {{4, 1}, 1}, {{0, 4}, 1}, {{19, 33}, 1},
  };
  for (const auto& [shape, axis] : list) {
    const Attrs attrs{{"axis", axis}};
    for (const OpDef* op : {&ops::kSoftmax, &ops::kLogSoftmax, &ops::kSparsemax}) {
      // Farther apart, so that no x of sparsemax lies near the threshold by chance.
      const double high = op == &ops::kSparsemax ? 5 : 2;
      cases.push_back(make_case(*op, {uniform(shape, -high, high)}, attrs, float32(shape), {0}));
    }
    Shape rest = shape;
    rest.erase(rest.begin() + axis);
    cases.push_back(make_case(ops::kArgMax, {distinct(shape)}, attrs, {DType::kInt32, rest}));
    // Ties: the lowest index counts.
    cases.push_back(make_case(ops::kArgMax, {integers(DType::kFloat32, shape, 0, 2)}, attrs,
                              {DType::kInt32, rest}));
    cases.back().name += " with ties";
  }
}

struct Contraction {
  std::string equation;
  Shape x, w, result;
};

void add_einsums(std::vector<OpCase>& cases) {
  const std::vector<Contraction> list{
      {"m k, k n -> m n", {3, 4}, {4, 5}, {3, 5}},
      {"m k, n k -> m n", {3, 4}, {5, 4}, {3, 5}},
      {"k m, k n -> m n", {4, 3}, {4, 5}, {3, 5}},
      {"k m, n k -> m n", {4, 3}, {5, 4}, {3, 5}},
      {"m k, k n -> n m", {3, 4}, {4, 5}, {5, 3}},
      {"m k, k n -> m n", {1, 7}, {7, 1}, {1, 1}},
      {"m k, k n -> m n", {33, 29}, {29, 17}, {33, 17}},
      {"m k, k n -> m n", {0, 4}, {4, 5}, {0, 5}},
      {"m k, k n -> m n", {3, 0}, {0, 5}, {3, 5}},
      {"m k, k -> m", {3, 4}, {4}, {3}},
      {"k, k n -> n", {4}, {4, 5}, {5}},
      {"k, k ->", {6}, {6}, {}},
      {"m, n -> m n", {3}, {4}, {3, 4}},
      {"a, a -> a", {5}, {5}, {5}},
      {", a -> a", {}, {3}, {3}},
      {"a b k, k n -> a b n", {2, 3, 4}, {4, 5}, {2, 3, 5}},
      {"a b k, a b n -> k n", {2, 3, 4}, {2, 3, 5}, {4, 5}},
      {"a b n, k n -> a b k", {2, 3, 5}, {4, 5}, {2, 3, 4}},
      {"b m k, b k n -> b m n", {2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
      {"b m k, b n k -> b m n", {3, 2, 4}, {3, 5, 4}, {3, 2, 5}},
      {"b k m, b k n -> b m n", {3, 4, 2}, {3, 4, 5}, {3, 2, 5}},
      {"b h q d, b h k d -> b h q k", {2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 3, 5}},
      {"b h q k, b h k d -> b h q d", {2, 2, 3, 5}, {2, 2, 5, 4}, {2, 2, 3, 4}},
      {"b q h d, b k h d -> b h q k", {2, 3, 2, 4}, {2, 5, 2, 4}, {2, 2, 3, 5}},
      {"a b k, k h d -> a b h d", {2, 3, 4}, {4, 2, 3}, {2, 3, 2, 3}},
      {"a b h d, h d n -> a b n", {2, 3, 2, 4}, {2, 4, 5}, {2, 3, 5}},
      {"a b, a b -> a", {3, 4}, {3, 4}, {3}},
  };
  for (const Contraction& e : list) {
    cases.push_back(make_case(ops::kEinsum, {uniform(e.x), uniform(e.w)},
                              {{"equation", e.equation}}, float32(e.result), {0, 1}));
  }
}

struct Biased {
  Contraction product;
  Shape bias;
};

void add_biased_einsums(std::vector<OpCase>& cases) {
  const std::vector<Biased> list{
      {{"m k, k n -> m n", {3, 4}, {4, 5}, {3, 5}}, {5}},
      {{"m k, n k -> m n", {33, 29}, {17, 29}, {33, 17}}, {17}},
      {{"m k, k n -> m n", {33, 24}, {24, 1}, {33, 1}}, {1}},
      {{"m k, k n -> m n", {2, 70}, {70, 40}, {2, 40}}, {40}},
      {{"m k, k n -> m n", {0, 4}, {4, 5}, {0, 5}}, {5}},
      {{"m k, k n -> m n", {3, 0}, {0, 5}, {3, 5}}, {5}},
      {{"k, k n -> n", {90}, {90, 20}, {20}}, {20}},
      {{"a b k, k n -> a b n", {5, 6, 20}, {20, 18}, {5, 6, 18}}, {18}},
      {{"b k a, k n -> a b n", {5, 6, 20}, {6, 18}, {20, 5, 18}}, {18}},
      {{"a b k, k h d -> a b h d", {3, 7, 24}, {24, 4, 6}, {3, 7, 4, 6}}, {4, 6}},
      {{"a b h d, h d n -> a b n", {4, 5, 3, 8}, {3, 8, 20}, {4, 5, 20}}, {20}},
  };
  for (const Biased& biased : list) {
    const Contraction& product = biased.product;
    const auto add = [&](bool relu, std::vector<CaseInput> inputs) {
      cases.push_back(make_case(ops::kEinsumBias, std::move(inputs),
                                {{"equation", product.equation}, {"relu", relu}},
                                float32(product.result), {0, 1, 2}));
    };
    add(false, {uniform(product.x), uniform(product.w), uniform(biased.bias)});
    // Whole numbers and a half: never near 0, where relu has no gradient.
    add(true, {integers(DType::kFloat32, product.x, -2, 2),
               integers(DType::kFloat32, product.w, -2, 2), uniform(biased.bias, 0.3, 0.7)});
  }
}

}  // namespace

std::vector<OpCase> reduce_cases() {
  std::vector<OpCase> cases;
  add_reductions(cases);
  add_along_axis(cases);
  add_einsums(cases);
  add_biased_einsums(cases);
  return cases;
}

}  // namespace meshwork

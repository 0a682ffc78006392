#include <doctest/doctest.h>
#include <omp.h>

#include "backend/cpu/few_rows.h"
#include "backend/cpu/stacked_product.h"
#include "backend/einsum_plan.h"
#include "base/bfloat16.h"
#include "base/rng.h"
#include "kernel_runner.h"
#include "support/equations.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using Case = EquationCase;

Equation parsed(const Case& c) { return parse_equation(c.equation(), c.shape(c.x), c.shape(c.w)); }

/// Numbers whose sums are rounded.
Tensor uniform(Shape shape, std::uint64_t seed) {
  Tensor tensor = some_floats(std::move(shape), seed);
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    tensor.values[i] = static_cast<double>(uniform_at(seed, 0, i));
  }
  return tensor;
}

EinsumPlan plan_of(const Case& c) { return plan_einsum(parsed(c), false); }

}  // namespace

TEST_CASE("the fast einsum agrees with the naive one") {
  for (const Case& c : equation_cases()) {
    const Attrs attrs{{"equation", c.equation()}};
    // Multiples of 1/8 add up without rounding, so any order of summation gives the same.
    const std::vector<Tensor> inputs{some_floats(c.shape(c.x), 1), some_floats(c.shape(c.w), 2)};
    check_fast("einsum", inputs, {DType::kFloat32, c.shape(c.y)}, attrs);
  }
}

TEST_CASE("large products agree with naive ones and do not depend on the number of threads") {
  const Extents large{{"m", 512}, {"k", 1024}, {"n", 520}};
  const Extents flat{{"m", 260}, {"k", 700}, {"n", 1500}};
  for (const Case& c : {Case{"m k", "k n", "m n", large}, Case{"k m", "k n", "m n", large},
                        Case{"m k", "n k", "m n", large}, Case{"m k", "k n", "m n", flat},
                        Case{"k m", "k n", "m n", flat}, Case{"m k", "n k", "m n", flat}}) {
    check_fast("einsum", {some_floats(c.shape(c.x), 1), some_floats(c.shape(c.w), 2)},
               {DType::kFloat32, c.shape(c.y)}, {{"equation", c.equation()}});
    check_threads("einsum", {normals(c.shape(c.x), 1), normals(c.shape(c.w), 2)},
                  {DType::kFloat32, c.shape(c.y)}, {{"equation", c.equation()}});
  }
}

TEST_CASE("products that oneDNN packs as a whole do not depend on the number of threads") {
  // Of the first it would pack the whole, but not its halves; of the second it packs every part.
  const Extents tall{{"m", 1536}, {"k", 1024}, {"n", 1000}};
  const Extents packed{{"m", 2048}, {"k", 100}, {"n", 4096}};
  for (const Case& c : {Case{"m k", "k n", "m n", tall}, Case{"m k", "n k", "m n", tall},
                        Case{"k m", "k n", "m n", packed}}) {
    check_threads("einsum", {normals(c.shape(c.x), 1), normals(c.shape(c.w), 2)},
                  {DType::kFloat32, c.shape(c.y)}, {{"equation", c.equation()}});
  }
}

TEST_CASE("products of a short stack are close to naive ones and do not depend on the threads") {
  const Extents extents{{"s", 2}, {"m", 96}, {"k", 510}, {"n", 101}};
  for (const Case& c :
       {Case{"m s k", "s k n", "s m n", extents}, Case{"s m k", "s k n", "m s n", extents}}) {
    const std::vector<Tensor> inputs{uniform(c.shape(c.x), 1), uniform(c.shape(c.w), 2)};
    const TensorType output{DType::kFloat32, c.shape(c.y)};
    const Attrs attrs{{"equation", c.equation()}};
    CHECK(cpu::StackedProduct::pays(plan_of(c)));
    const Tensor alone = run(*make_cpu_backend(1), "einsum", inputs, output, attrs);
    CHECK(ulps(alone, run(*make_reference_backend(), "einsum", inputs, output, attrs)) < 16);
    check_threads("einsum", inputs, output, attrs);
  }
}

TEST_CASE("products of a stack are shared out if they are few, with long sums") {
  const auto pays = [](std::int64_t stack, std::int64_t m, std::int64_t k, std::int64_t n) {
    const Extents extents{{"s", stack}, {"m", m}, {"k", k}, {"n", n}};
    return cpu::StackedProduct::pays(plan_of({"m s k", "s k n", "s m n", extents}));
  };
  CHECK(pays(2, 128, 392, 128));
  CHECK(!pays(64, 128, 392, 128));
  CHECK(!pays(2, 256, 392, 128));
  CHECK(!pays(2, 16, 64, 64));
  const Extents gradient{{"s", 2}, {"m", 128}, {"k", 392}, {"n", 128}};
  CHECK(!cpu::StackedProduct::pays(plan_of({"k s m", "s k n", "s m n", gradient})));
}

TEST_CASE("products of few rows agree with naive ones and do not depend on the threads") {
  for (const std::int64_t m : {1, 2, 3, 4}) {
    for (const std::int64_t n : {33, 260, 2100}) {
      for (const std::int64_t k : {1, 65, 200}) {
        const Extents extents{{"m", m}, {"k", k}, {"n", n}};
        for (const Case& c :
             {Case{"m k", "k n", "m n", extents}, Case{"m k", "n k", "m n", extents}}) {
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          CHECK(cpu::FewRows::pays(plan_of(c)) == (n * k >= 1024));
          const TensorType output{DType::kFloat32, c.shape(c.y)};
          const Attrs attrs{{"equation", c.equation()}};
          check_fast("einsum", {some_floats(c.shape(c.x), 1), some_floats(c.shape(c.w), 2)}, output,
                     attrs);
          check_threads("einsum", {normals(c.shape(c.x), 1), normals(c.shape(c.w), 2)}, output,
                        attrs);
        }
      }
    }
  }
}

TEST_CASE("products of few rows of bfloat16 are those of float32, rounded once") {
  for (const std::int64_t m : {1, 3, 4}) {
    for (const std::int64_t n : {33, 2100}) {
      const Extents extents{{"m", m}, {"k", 201}, {"n", n}};
      for (const Case& c :
           {Case{"m k", "k n", "m n", extents}, Case{"m k", "n k", "m n", extents}}) {
        const auto narrow = [](Tensor x) {
          x.type.dtype = DType::kBFloat16;
          for (double& value : x.values) value = BFloat16(static_cast<float>(value));
          return x;
        };
        const std::vector<Tensor> inputs{narrow(normals(c.shape(c.x), 1)),
                                         narrow(normals(c.shape(c.w), 2))};
        std::vector<Tensor> wide = inputs;
        for (Tensor& x : wide) x.type.dtype = DType::kFloat32;
        const Attrs attrs{{"equation", c.equation()}};
        const TensorType output{DType::kFloat32, c.shape(c.y)};
        const auto backend = make_cpu_backend(1);
        const Tensor expected = run(*backend, "einsum", wide, output, attrs);
        const Attrs kept_wide{{"equation", c.equation()}, {"dtype", "float32"}};
        CHECK(same(run(*backend, "einsum", inputs, output, kept_wide), expected));
        const TensorType rounded{DType::kBFloat16, output.shape};
        CHECK(same(run(*backend, "einsum", inputs, rounded, attrs), narrow(expected)));
        check_threads("einsum", inputs, rounded, attrs);
      }
    }
  }
}

TEST_CASE("a long sum of products is close to the naive one") {
  const std::vector<Tensor> inputs{uniform({40, 3000}, 1), uniform({3000, 50}, 2)};
  const TensorType output{DType::kFloat32, {40, 50}};
  const Attrs attrs{{"equation", "m k, k n -> m n"}};
  CHECK(ulps(run(*make_cpu_backend(1), "einsum", inputs, output, attrs),
             run(*make_reference_backend(), "einsum", inputs, output, attrs)) < 64);
}

TEST_CASE("common equations need no copy, and no naive product") {
  std::vector<Case> cases;
  append(cases, with_gradients("m k", "k n", "m n", {{"m", 64}, {"n", 48}, {"k", 32}}));
  append(cases,
         with_gradients("b s i", "i o", "b s o", {{"b", 4}, {"s", 9}, {"i", 40}, {"o", 50}}));
  const Extents attention{{"b", 3}, {"q", 17}, {"k", 19}, {"h", 4}, {"d", 8}, {"f", 32}};
  append(cases, with_gradients("b q h d", "b k h d", "b h q k", attention));
  append(cases, with_gradients("b h q k", "b k h d", "b q h d", attention));
  append(cases, with_gradients("b q f", "f h d", "b q h d", attention));
  append(cases, with_gradients("b q h d", "h d f", "b q f", attention));
  for (const Case& c : cases) {
    CAPTURE(c.equation());
    const EinsumPlan plan = plan_einsum(parsed(c), false);
    CHECK(!plan.copy_x);
    CHECK(!plan.copy_w);
    CHECK(!plan.copy_y);
  }
}

TEST_CASE("an equation becomes a stack of matrix products") {
  const Case scores{
      "b q h d", "b k h d", "b h q k", {{"b", 2}, {"q", 5}, {"k", 7}, {"h", 3}, {"d", 4}}};
  const EinsumPlan plan = plan_einsum(parsed(scores), false);
  CHECK(plan.stack == Shape{2, 3});
  CHECK(plan.m == 5);
  CHECK(plan.n == 7);
  CHECK(plan.k == 4);
  CHECK(plan.x.stack == Shape{60, 4});
  CHECK(plan.x.rows == 12);
  CHECK(plan.w.columns == 12);
  CHECK(plan.w.rows == 1);

  const EinsumPlan copied = plan_einsum(parsed(scores), true);
  CHECK(copied.stack == Shape{6});
  CHECK(copied.copy_x.has_value());
  CHECK(copied.copy_w.has_value());
  CHECK(copied.copy_y.has_value());

  const Case column{"m k", "k", "m", {{"m", 9}, {"k", 4}}};
  CHECK(plan_einsum(parsed(column), false).swapped);

  // Only the cheapest is copied: here w, whose summed factors stand in another order.
  const Case crossed{"a c d", "b d c", "a b", {{"a", 50}, {"b", 2}, {"c", 3}, {"d", 4}}};
  const EinsumPlan cheap = plan_einsum(parsed(crossed), false);
  CHECK(!cheap.copy_x);
  CHECK(cheap.copy_w);
  CHECK(!cheap.copy_y);
}

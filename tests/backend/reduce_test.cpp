#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "backend/cpu/reduce_plan.h"
#include "base/rng.h"
#include "kernel_runner.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

using Axes = std::vector<std::int64_t>;

struct Case {
  Shape x;
  Axes axes;
};

/// Kept and reduced dimensions in every order, rows and columns in one part and in several.
const std::vector<Case> kCases = {
    {{}, {}},
    {{1, 1}, {0}},
    {{5}, {0}},
    {{64}, {0}},
    {{1000}, {0}},
    {{300000}, {0}},
    {{128, 10}, {0}},
    {{128, 10}, {1}},
    {{128, 10}, {0, 1}},
    {{3, 5000}, {0}},
    {{3, 5000}, {1}},
    {{2, 70000}, {1}},
    {{9001, 7}, {0}},
    {{9001, 7}, {1}},
    {{700, 1100}, {0}},
    {{4, 5, 6}, {0, 2}},
    {{4, 5, 6}, {1}},
    {{4, 5, 6}, {0, 1}},
    {{4, 5, 6, 7}, {1, 3}},
    {{4, 5, 6, 7}, {0, 2}},
    {{30, 5, 400, 7}, {0, 2}},
    {{30, 5, 400, 7}, {1, 3}},
    {{2, 1, 3}, {1}},
    {{2, 1, 3}, {}},
    {{0, 3}, {0}},
    {{0, 3}, {1}},
    {{3, 0}, {1}},
    {{3, 0}, {0, 1}},
};

TensorType reduced_type(DType dtype, const Case& c, bool keepdims) {
  Shape shape;
  for (std::size_t d = 0; d < c.x.size(); ++d) {
    bool reduced = false;
    for (const std::int64_t axis : c.axes)
      reduced = reduced || axis == static_cast<std::int64_t>(d);
    if (!reduced) shape.push_back(c.x[d]);
    if (reduced && keepdims) shape.push_back(1);
  }
  return {dtype, shape};
}

}  // namespace

TEST_CASE("fast reductions agree with naive ones") {
  for (const Case& c : kCases) {
    for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64}) {
      for (const bool keepdims : {false, true}) {
        // Multiples of 1/8 add up without rounding.
        const std::vector<Tensor> x{some_tensor(dtype, c.x, 1)};
        const Attrs attrs{{"axes", c.axes}, {"keepdims", keepdims}};
        check_fast("reduce_sum", x, reduced_type(dtype, c, keepdims), attrs);
        check_fast("reduce_max", x, reduced_type(dtype, c, keepdims), attrs);
      }
    }
  }
}

TEST_CASE("fast sums lose little and do not depend on the number of threads") {
  for (const Case& c : {Case{{300000}, {0}}, Case{{30000, 7}, {0}}, Case{{5, 40000}, {1}},
                        Case{{100, 50, 70}, {0, 2}}}) {
    Tensor x = some_floats(c.x, 2);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      x.values[i] = static_cast<double>(uniform_at(3, 0, i));
    }
    check_fast("reduce_sum", {x}, reduced_type(DType::kFloat32, c, false),
               {{"axes", c.axes}, {"keepdims", false}}, 16);
  }
}

TEST_CASE("sums of squares have the bits of squares that are added up") {
  for (const Case& c : kCases) {
    CAPTURE(to_string(c.x));
    const Attrs attrs{{"axes", c.axes}, {"keepdims", false}};
    const TensorType result = reduced_type(DType::kFloat32, c, false);
    const Tensor x = some_floats(c.x, 5);
    for (const auto& backend : {make_cpu_backend(2), make_reference_backend()}) {
      const Tensor squares = run(*backend, "square", {x}, {DType::kFloat32, c.x}, {});
      CHECK(run(*backend, "sum_of_squares", {x}, result, attrs).values ==
            run(*backend, "reduce_sum", {squares}, result, attrs).values);
    }
  }
}

TEST_CASE("a fast maximum passes NaN through wherever it stands") {
  for (const std::int64_t place : {0, 63, 64, 100, 9999, 299999}) {
    Tensor x = some_floats({300000}, 4);
    x.values[static_cast<std::size_t>(place)] = std::numeric_limits<double>::quiet_NaN();
    const Tensor y = run(*make_cpu_backend(2), "reduce_max", {x}, {DType::kFloat32, {}},
                         {{"axes", Axes{0}}, {"keepdims", false}});
    CHECK(std::isnan(y.values[0]));
  }
}

TEST_CASE("fast argmax finds the places that the naive one finds") {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  const auto infinity = std::numeric_limits<double>::infinity();
  for (const Shape& shape : std::vector<Shape>{{1},
                                               {9},
                                               {200},
                                               {128, 10},
                                               {17, 64},
                                               {3, 1000},
                                               {40, 33, 5},
                                               {2, 3, 70},
                                               {90, 1000},
                                               {0, 4}}) {
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      if (shape[static_cast<std::size_t>(axis)] == 0) continue;
      CAPTURE(to_string(shape));
      CAPTURE(axis);
      Shape kept = shape;
      kept.erase(kept.begin() + axis);
      const TensorType output{DType::kInt32, kept};
      Tensor x = some_floats(shape, 3);  // one in 64 values is equal to another
      check_fast("argmax", {x}, output, {{"axis", axis}});
      for (std::size_t i = 0; i < x.values.size(); i += 7) x.values[i] = i % 3 == 0 ? nan : -0.0;
      check_fast("argmax", {x}, output, {{"axis", axis}});
      for (double& value : x.values) value = -infinity;
      check_fast("argmax", {x}, output, {{"axis", axis}});
      for (double& value : x.values) value = nan;
      x.region = {shape, Shape(shape.size(), 5)};
      for (std::int64_t& extent : x.region.global) extent += 5;
      check_fast("argmax", {x}, output, {{"axis", axis}});
    }
  }
}

TEST_CASE("a reduction is planned as rows and columns") {
  const cpu::ReducePlan bias = cpu::plan_reduce({128, 1, 200}, {0, 1});
  CHECK(bias.kept == 1);
  CHECK(bias.reduced == 128);
  CHECK(bias.columns == 200);
  CHECK(!bias.reduces_columns);
  CHECK(bias.blocks == 1);
  const cpu::ReducePlan all = cpu::plan_reduce({1000, 1000}, {0, 1});
  CHECK(all.columns == 1000000);
  CHECK(all.reduces_columns);
  CHECK(all.blocks > 1);
}

TEST_CASE("fast softmax and log_softmax agree with naive ones") {
  struct Line {
    Shape x;
    std::int64_t axis;
  };
  for (const Line& line : {Line{{1}, 0}, Line{{128, 10}, 1}, Line{{3, 4, 77}, 2},
                           Line{{5, 9000}, 1}, Line{{4, 6, 5}, 1}, Line{{700, 100}, 1},
                           Line{{0, 3}, 1}, Line{{3, 0}, 1}, Line{{3, 1}, 1}}) {
    const Attrs attrs{{"axis", line.axis}};
    const Tensor x = some_floats(line.x, 5);
    check_fast("softmax", {x}, x.type, attrs, 8, {0});
    Tensor large = x;
    for (double& value : large.values) value *= 100;
    check_fast("softmax", {large}, large.type, attrs, 8, {0});
    // Differences to the logarithm of the sum: near 0 the error is that of the sum, not of the
    // result.
    const Tensor y = run(*make_cpu_backend(1), "log_softmax", {x}, x.type, attrs);
    const Tensor z = run(*make_reference_backend(), "log_softmax", {x}, x.type, attrs);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      CHECK(std::abs(y.values[i] - z.values[i]) <= 2e-6);
    }
    CHECK(same(run(*make_cpu_backend(2), "log_softmax", {x}, x.type, attrs, {.in_place = 0}), y));
  }
}

TEST_CASE(
    "fast crossentropy has the bits of log_softmax and take_along_axis, its gradient those of "
    "theirs") {
  for (const Shape& shape : {Shape{1}, Shape{128, 10}, Shape{3, 4, 77}, Shape{5, 9000},
                             Shape{700, 100}, Shape{0, 3}, Shape{3, 0}, Shape{900, 1}}) {
    CAPTURE(to_string(shape));
    const Shape rows(shape.begin(), shape.end() - 1);
    Shape column = rows;
    column.push_back(1);
    const Tensor x = some_floats(shape, 5);
    const Tensor d = some_floats(column, 7);
    // Labels past both ends.
    Tensor labels = tensor(DType::kInt32, rows, std::vector<double>(d.values.size()));
    for (std::size_t i = 0; i < labels.values.size(); ++i) {
      labels.values[i] =
          static_cast<double>(i * 7 % static_cast<std::size_t>(shape.back() + 2)) - 1;
    }
    const auto fast = make_cpu_backend(1);
    const TensorType row_type{DType::kFloat32, rows}, column_type{DType::kFloat32, column};
    const std::int64_t axis = static_cast<std::int64_t>(shape.size()) - 1;

    const Tensor log = run(*fast, "log_softmax", {x}, x.type, {{"axis", axis}});
    const Tensor picked = run(*fast, "take_along_axis", {log, labels}, row_type);
    const Tensor loss = run(*fast, "crossentropy", {x, labels}, row_type);
    CHECK(ulps(loss, run(*fast, "negate", {picked}, row_type)) == 0);
    CHECK(same(run(*make_cpu_backend(2), "crossentropy", {x, labels}, row_type), loss));

    const Tensor hit = run(*fast, "one_hot", {labels}, x.type, {{"depth", shape.back()}});
    const Tensor target = run(*fast, "multiply", {d, hit}, x.type);
    const Tensor sum = run(*fast, "reduce_sum", {target}, column_type,
                           {{"axes", std::vector<std::int64_t>{axis}}, {"keepdims", true}});
    const Tensor share = run(*fast, "exp", {log}, x.type);
    const Tensor part = run(*fast, "multiply", {share, sum}, x.type);
    const Tensor gradient = run(*fast, "crossentropy_gradient", {x, labels, d}, x.type);
    CHECK(ulps(gradient, run(*fast, "subtract", {target, part}, x.type)) == 0);
    for (const int place : {0, 2}) {
      if (place == 2 && shape != column) continue;
      CHECK(same(run(*make_cpu_backend(2), "crossentropy_gradient", {x, labels, d}, x.type, {},
                     {.in_place = place}),
                 gradient));
    }
  }
}

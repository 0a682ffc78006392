#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "graph/attention_options.h"
#include "kernel_runner.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<double> reference(std::string_view op, const std::vector<Tensor>& inputs,
                              TensorType output, const Attrs& attrs = {},
                              const RunOptions& options = {}) {
  const auto backend = make_reference_backend();
  return run(*backend, op, inputs, std::move(output), attrs, options).values;
}

TensorType f32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
TensorType i32(Shape shape) { return {DType::kInt32, std::move(shape)}; }

using Values = std::vector<double>;

std::string shown(const Values& values) {
  return to_text(floats({static_cast<std::int64_t>(values.size())}, values));
}

void check_values(const Values& actual, const Values& expected) {
  const Shape shape{static_cast<std::int64_t>(expected.size())};
  REQUIRE(actual.size() == expected.size());
  CHECK_MESSAGE(same(floats(shape, actual), floats(shape, expected)), shown(actual), " instead of ",
                shown(expected));
}

}  // namespace

TEST_CASE("naive elementwise kernels") {
  const Tensor x = floats({6}, {-2, -0.5, 0, 0.5, 2, kNan});
  check_values(reference("abs", {x}, f32({6})), {2, 0.5, 0, 0.5, 2, kNan});
  check_values(reference("negate", {x}, f32({6})), {2, 0.5, -0.0, -0.5, -2, kNan});
  check_values(reference("sign", {x}, f32({6})), {-1, -1, 0, 1, 1, kNan});
  check_values(reference("floor", {x}, f32({6})), {-2, -1, 0, 0, 2, kNan});
  check_values(reference("square", {x}, f32({6})), {4, 0.25, 0, 0.25, 4, kNan});
  check_values(reference("relu", {x}, f32({6})), {0, 0, 0, 0.5, 2, kNan});
  check_values(reference("sqrt", {floats({3}, {0, 2.25, -1})}, f32({3})), {0, 1.5, kNan});
  check_values(reference("log", {floats({3}, {1, 0, -1})}, f32({3})), {0, -kInf, kNan});
  check_values(reference("log1p", {floats({2}, {0, -1})}, f32({2})), {0, -kInf});
  check_values(reference("exp", {floats({3}, {0, -kInf, kInf})}, f32({3})), {1, 0, kInf});
  check_values(reference("tanh", {floats({3}, {0, -kInf, kInf})}, f32({3})), {0, -1, 1});
  check_values(reference("erf", {floats({3}, {0, -kInf, kInf})}, f32({3})), {0, -1, 1});
  check_values(reference("sigmoid", {floats({4}, {0, -1000, 1000, kNan})}, f32({4})),
               {0.5, 0, 1, kNan});
  const auto softplus = reference("softplus", {floats({4}, {0, -1000, 1000, 1})}, f32({4}));
  CHECK(softplus[0] == doctest::Approx(0.69314718));
  CHECK(softplus[1] == 0);
  CHECK(softplus[2] == 1000);
  CHECK(softplus[3] == doctest::Approx(1.31326169));
}

TEST_CASE("naive binary kernels broadcast as numpy does") {
  const Tensor matrix = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor row = floats({3}, {10, 20, 30});
  const Tensor column = floats({2, 1}, {100, 200});
  check_values(reference("add", {matrix, row}, f32({2, 3})), {11, 22, 33, 14, 25, 36});
  check_values(reference("subtract", {column, row}, f32({2, 3})), {90, 80, 70, 190, 180, 170});
  check_values(reference("multiply", {matrix, floats({}, {2})}, f32({2, 3})), {2, 4, 6, 8, 10, 12});
  check_values(reference("divide", {row, column}, f32({2, 3})),
               {0.1F, 0.2F, 0.3F, 0.05F, 0.1F, 0.15F});
  check_values(reference("power", {floats({3}, {2, 9, 0}), floats({3}, {10, 0.5, 0})}, f32({3})),
               {1024, 3, 1});
  check_values(reference("add", {floats({0, 3}, {}), row}, f32({0, 3})), {});
}

TEST_CASE("naive comparisons and choices") {
  const Tensor a = floats({4}, {1, 2, 3, kNan});
  const Tensor b = floats({4}, {3, 2, kNan, 1});
  check_values(reference("maximum", {a, b}, f32({4})), {3, 2, kNan, kNan});
  check_values(reference("minimum", {a, b}, f32({4})), {1, 2, kNan, kNan});
  check_values(reference("equal", {a, b}, f32({4})), {0, 1, 0, 0});
  check_values(reference("greater", {a, b}, f32({4})), {0, 0, 0, 0});
  check_values(reference("greater_equal", {a, b}, f32({4})), {0, 1, 0, 0});
  const Tensor i = tensor(DType::kInt32, {3}, {1, -5, 7});
  const Tensor j = tensor(DType::kInt32, {3}, {2, -5, 3});
  check_values(reference("greater", {i, j}, f32({3})), {0, 0, 1});
  check_values(reference("select", {floats({3}, {0, 1, kNan}), i, j}, i32({3})), {2, -5, 7});
  // Whole numbers wrap around.
  const Tensor big = tensor(DType::kInt32, {1}, {2147483647});
  check_values(reference("add", {big, big}, i32({1})), {-2});
  check_values(reference("negate", {tensor(DType::kInt32, {1}, {-2147483648.0})}, i32({1})),
               {-2147483648.0});
}

TEST_CASE("naive casts cut off fractions and stay in range") {
  const Tensor x = floats({7}, {-1.75, 1.75, 3e9, -3e9, kNan, 2147483520, 255.5});
  const Attrs attrs{{"dtype", "int32"}};
  check_values(reference("cast", {x}, i32({7}), attrs),
               {-1, 1, 2147483647, -2147483648.0, 0, 2147483520, 255});
  check_values(reference("cast", {x}, {DType::kUInt8, {7}}, {{"dtype", "uint8"}}),
               {0, 1, 255, 0, 0, 255, 255});
  check_values(reference("cast", {tensor(DType::kInt64, {2}, {4294967297, -1})}, i32({2}), attrs),
               {1, -1});
  check_values(reference("cast", {tensor(DType::kUInt8, {2}, {0, 255})}, f32({2})), {0, 255});
}

TEST_CASE("naive reductions") {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto axes = [](std::vector<std::int64_t> dims, bool keep) {
    return Attrs{{"axes", std::move(dims)}, {"keepdims", keep}};
  };
  check_values(reference("reduce_sum", {x}, f32({3}), axes({0}, false)), {5, 7, 9});
  check_values(reference("reduce_sum", {x}, f32({2, 1}), axes({1}, true)), {6, 15});
  check_values(reference("reduce_sum", {x}, f32({}), axes({0, 1}, false)), {21});
  check_values(reference("reduce_max", {x}, f32({2}), axes({1}, false)), {3, 6});
  check_values(reference("reduce_sum", {floats({0, 2}, {})}, f32({2}), axes({0}, false)), {0, 0});
  check_values(reference("reduce_max", {floats({0, 2}, {})}, f32({2}), axes({0}, false)),
               {-kInf, -kInf});
  check_values(reference("reduce_max", {floats({3}, {1, kNan, 2})}, f32({}), axes({0}, false)),
               {kNan});
  check_values(reference("reduce_max", {tensor(DType::kInt32, {0}, {})}, i32({}), axes({0}, false)),
               {-2147483648.0});
}

TEST_CASE("naive argmax counts over the whole tensor") {
  Tensor x = floats({2, 3}, {1, 7, 7, 5, kNan, 9});
  check_values(reference("argmax", {x}, i32({2}), {{"axis", std::int64_t{1}}}), {1, 1});
  check_values(
      reference("argmax", {floats({2, 2}, {1, 4, 3, 2})}, i32({2}), {{"axis", std::int64_t{0}}}),
      {1, 0});
  x.region = {{2, 10}, {0, 4}};
  check_values(reference("argmax", {x}, i32({2}), {{"axis", std::int64_t{1}}}), {5, 5});
  const Tensor low = floats({2}, {-kInf, -kInf});
  check_values(reference("argmax", {low}, i32({}), {{"axis", std::int64_t{0}}}), {0});
}

TEST_CASE("naive softmax, log_softmax and sparsemax") {
  const Attrs last{{"axis", std::int64_t{1}}}, first{{"axis", std::int64_t{0}}};
  const Tensor x = floats({2, 2}, {0, std::log(3.0), 1000, 1000});
  const auto y = reference("softmax", {x}, f32({2, 2}), last);
  CHECK(y[0] == doctest::Approx(0.25));
  CHECK(y[1] == doctest::Approx(0.75));
  CHECK(y[2] == 0.5);
  const auto z = reference("log_softmax", {x}, f32({2, 2}), last);
  CHECK(z[0] == doctest::Approx(std::log(0.25)));
  CHECK(z[3] == doctest::Approx(std::log(0.5)));
  check_values(reference("softmax", {floats({2, 1}, {5, 5})}, f32({2, 1}), first), {0.5, 0.5});

  // From the paper's formula: tau = -0.25 for (0.5, 0.25, -2); one winner takes all beyond 1.
  check_values(reference("sparsemax", {floats({1, 3}, {0.5, 0.25, -2})}, f32({1, 3}), last),
               {0.625, 0.375, 0});
  check_values(reference("sparsemax", {floats({1, 3}, {3, 1, 2})}, f32({1, 3}), last), {1, 0, 0});
  check_values(reference("sparsemax", {floats({3, 1}, {2, 2, 2})}, f32({3, 1}), first),
               {1.0F / 3, 1.0F / 3, 1.0F / 3});
  check_values(reference("sparsemax", {floats({1, 2}, {kNan, 0})}, f32({1, 2}), last),
               {kNan, kNan});
  // Numbers beside which a one is nothing.
  for (const double large : {1e10, 1e30, -1e30}) {
    CAPTURE(large);
    const Tensor far = floats({2, 3}, {large, large, -2e30, 3e30, large, 1});
    check_values(reference("sparsemax", {far}, f32({2, 3}), last), {0.5, 0.5, 0, 1, 0, 0});
  }
}

TEST_CASE("naive crossentropy of many classes takes a moment") {
  const std::int64_t classes = 20000;
  const Values zeros(static_cast<std::size_t>(classes), 0);
  const Tensor x = floats({1, classes}, zeros), label = tensor(DType::kInt32, {1}, {7});
  const auto begin = std::chrono::steady_clock::now();
  const auto slopes =
      reference("crossentropy_gradient", {x, label, floats({1}, {1})}, f32({1, classes}));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
  CHECK(slopes[7] == doctest::Approx(1 - 1.0 / 20000));
  CHECK(slopes[8] == doctest::Approx(-1.0 / 20000));
}

TEST_CASE("naive attention: the log_sum of scores that are no numbers is none") {
  const auto line = [](double x) { return floats({1, 1, 1, 1, 1}, {x}); };
  const auto keys = floats({1, 2, 1, 1}, {kNan, kNan});
  check_values(reference("attention_log_sum", {line(1), keys, keys}, f32({1, 1, 1, 1}),
                         attention_attrs({.scale = 1})),
               {kNan});
}

TEST_CASE("naive einsum") {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor b = floats({3, 2}, {1, 0, 0, 1, 2, 2});
  const auto equation = [](const char* text) { return Attrs{{"equation", text}}; };
  check_values(reference("einsum", {a, b}, f32({2, 2}), equation("m k, k n -> m n")),
               {7, 8, 16, 17});
  check_values(reference("einsum", {a, b}, f32({2, 2}), equation("m k, k n -> n m")),
               {7, 16, 8, 17});
  check_values(reference("einsum", {a, a}, f32({}), equation("i j, i j ->")), {91});
  check_values(reference("einsum", {a, a}, f32({2}), equation("i j, i j -> i")), {14, 77});
  check_values(reference("einsum", {a, floats({2}, {1, 10})}, f32({2}), equation("m k, n -> n")),
               {21, 210});
  check_values(reference("einsum", {floats({2, 0}, {}), floats({0, 2}, {})}, f32({2, 2}),
                         equation("m k, k n -> m n")),
               {0, 0, 0, 0});
  const auto backend = make_reference_backend();
  CHECK_THROWS_AS(run(*backend, "einsum", {a, a}, f32({2, 3}), equation("m k, k n -> m n")),
                  CheckFailure);
  CHECK_THROWS_AS(run(*backend, "einsum", {a, b}, f32({2}), equation("m m, m n -> m")),
                  CheckFailure);
}

TEST_CASE("naive movement") {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  check_values(
      reference("transpose", {x}, f32({3, 2}), {{"perm", std::vector<std::int64_t>{1, 0}}}),
      {1, 4, 2, 5, 3, 6});
  check_values(reference("reshape", {x}, f32({6}), {{"shape", Shape{6}}}), x.values);
  check_values(reference("broadcast_to", {floats({2, 1}, {1, 2})}, f32({2, 2, 2}), {}),
               {1, 1, 2, 2, 1, 1, 2, 2});
  check_values(
      reference("slice", {x}, f32({2, 2}),
                {{"axis", std::int64_t{1}}, {"start", std::int64_t{1}}, {"size", std::int64_t{2}}}),
      {2, 3, 5, 6});
  check_values(reference("concatenate", {x, floats({2, 1}, {8, 9})}, f32({2, 4}),
                         {{"axis", std::int64_t{1}}}),
               {1, 2, 3, 8, 4, 5, 6, 9});
  const Attrs blocks{{"dim", std::int64_t{1}}, {"extents", std::vector<std::int64_t>{2, 0, 1}}};
  const Tensor packed = floats({6}, {1, 2, 4, 5, 3, 6});
  check_values(reference("pack", {x}, f32({6}), blocks), packed.values);
  check_values(reference("unpack", {packed}, f32({2, 3}), blocks), x.values);
  const Attrs rows{{"counts", std::vector<std::int64_t>{2, 1, 1, 2}}, {"columns", std::int64_t{2}}};
  check_values(reference("transpose_blocks", {packed}, f32({6}), rows), {1, 2, 5, 4, 3, 6});
}

TEST_CASE("naive one_hot and take_along_axis count over the whole tensor") {
  const Tensor index = tensor(DType::kInt32, {3}, {4, 6, -1});
  const RunOptions region{.region = {{3, 10}, {0, 4}}};
  check_values(reference("one_hot", {index}, f32({3, 2}), {{"depth", std::int64_t{10}}}, region),
               {1, 0, 0, 0, 0, 0});
  Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  check_values(reference("take_along_axis", {x, tensor(DType::kInt32, {3}, {1, 0, 7})}, f32({3})),
               {2, 3, 0});
  x.region = {{3, 10}, {0, 5}};
  check_values(reference("take_along_axis", {x, tensor(DType::kInt32, {3}, {5, 6, 4})}, f32({3})),
               {1, 4, 0});
}

TEST_CASE("naive leaves") {
  check_values(reference("constant", {}, f32({2, 2}), {{"value", 1.5}}), {1.5, 1.5, 1.5, 1.5});
  check_values(reference("constant", {}, {DType::kInt64, {}}, {{"value", -3.0}}), {-3});
  check_values(reference("iota", {}, i32({2, 2}), {{"dim", std::int64_t{1}}}), {0, 1, 0, 1});
  check_values(
      reference("iota", {}, f32({2, 2}), {{"dim", std::int64_t{0}}}, {.region = {{8, 2}, {3, 0}}}),
      {3, 3, 4, 4});
  check_values(reference("identity_matrix", {}, f32({2, 3}), {{"gain", 2.0}}), {2, 0, 0, 0, 2, 0});
  check_values(
      reference("identity_matrix", {}, f32({2, 2}), {{"gain", 1.0}}, {.region = {{4, 4}, {1, 2}}}),
      {0, 0, 1, 0});
}

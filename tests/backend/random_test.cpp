#include <doctest/doctest.h>

#include <cmath>

#include "base/rng.h"
#include "kernel_runner.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kKey = -0x123456789abcdef;

const Attrs kUniform{{"key", kKey}, {"low", -2.0}, {"high", 3.0}};
const Attrs kNormal{{"key", kKey}, {"mean", 1.0}, {"stddev", 0.5}};

Tensor step_of(double value) { return tensor(DType::kInt64, {}, {value}); }

/// The part of `whole` that the region shows.
std::vector<double> part_of(const Tensor& whole, const Region& region, const Shape& local) {
  std::vector<double> part;
  const Shape strides = row_major_strides(whole.type.shape);
  for (std::int64_t i = 0; i < num_elements(local); ++i) {
    std::int64_t rest = i, place = 0;
    for (std::size_t d = local.size(); d-- > 0;) {
      place += (region.offset[d] + rest % local[d]) * strides[d];
      rest /= local[d];
    }
    part.push_back(whole.values[static_cast<std::size_t>(place)]);
  }
  return part;
}

struct Part {
  Shape offset, local;
};

}  // namespace

TEST_CASE("a uniform tensor is that of the generator at each global index") {
  const TensorType type{DType::kFloat32, {11, 13}};
  for (const double step : {0.0, 1.0, 5e9}) {
    const Tensor y = run(*make_cpu_backend(1), "random_uniform", {step_of(step)}, type, kUniform);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const float u =
          uniform_at(static_cast<std::uint64_t>(kKey), static_cast<std::uint64_t>(step), i);
      CHECK(y.values[i] == -2.0F + 5.0F * u);
    }
  }
  CHECK(same(run(*make_cpu_backend(1), "random_uniform", {}, type, kUniform),
             run(*make_cpu_backend(1), "random_uniform", {step_of(0)}, type, kUniform)));
  CHECK(!same(run(*make_cpu_backend(1), "random_uniform", {step_of(1)}, type, kUniform),
              run(*make_cpu_backend(1), "random_uniform", {step_of(0)}, type, kUniform)));
}

TEST_CASE("fast random kernels agree with naive ones") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{0, 3}, Shape{300, 301}}) {
    const TensorType type{DType::kFloat32, shape};
    check_fast("random_uniform", {step_of(7)}, type, kUniform);
    check_fast("random_uniform", {}, type, kUniform);
    check_fast("random_normal", {step_of(7)}, type, kNormal);
    check_fast("truncated_normal", {}, type, kNormal);
  }
}

TEST_CASE("a region of a random tensor is the same part of the whole") {
  const Shape global{6, 50, 9};
  for (const auto& [op, attrs] :
       {std::pair{"random_uniform", kUniform}, std::pair{"random_normal", kNormal},
        std::pair{"truncated_normal", kNormal}}) {
    const Tensor whole =
        run(*make_cpu_backend(1), op, {step_of(3)}, {DType::kFloat32, global}, attrs);
    for (const Part& part :
         {Part{{0, 0, 0}, {6, 50, 9}}, Part{{2, 0, 0}, {3, 50, 9}}, Part{{0, 7, 0}, {6, 11, 9}},
          Part{{1, 49, 5}, {5, 1, 4}}, Part{{0, 0, 8}, {6, 50, 1}}, Part{{5, 3, 1}, {1, 2, 3}},
          Part{{6, 0, 0}, {0, 50, 9}}}) {
      const Region region{global, part.offset};
      const TensorType type{DType::kFloat32, part.local};
      for (const bool fast : {false, true}) {
        const auto backend = fast ? make_cpu_backend(2) : make_reference_backend();
        const Tensor y = run(*backend, op, {step_of(3)}, type, attrs, {.region = region});
        CHECK(y.values == part_of(whole, region, part.local));
      }
    }
  }
}

TEST_CASE("normal tensors have the mean and the spread that were asked for") {
  const TensorType type{DType::kFloat32, {40000}};
  for (const auto& [op, spread] :
       {std::pair{"random_normal", 0.5}, std::pair{"truncated_normal", 0.5 * 0.87962566}}) {
    const Tensor y = run(*make_cpu_backend(1), op, {}, type, kNormal);
    double sum = 0, squares = 0, farthest = 0;
    for (const double value : y.values) {
      sum += value;
      squares += (value - 1) * (value - 1);
      farthest = std::max(farthest, std::abs(value - 1));
    }
    CHECK(sum / 40000 == doctest::Approx(1.0).epsilon(0.01));
    CHECK(std::sqrt(squares / 40000) == doctest::Approx(spread).epsilon(0.02));
    CHECK((farthest < 1.0) == (std::string_view(op) == "truncated_normal"));
  }
}

TEST_CASE("an orthogonal matrix is one, and the same for every window") {
  const Attrs attrs{{"key", kKey}, {"gain", 2.0}};
  for (const Shape& shape : {Shape{5, 5}, Shape{9, 4}, Shape{4, 9}, Shape{2, 3, 4}, Shape{1, 1}}) {
    const auto backend = make_cpu_backend(1);
    const Tensor q = run(*backend, "orthogonal", {}, {DType::kFloat32, shape}, attrs);
    const std::int64_t n = shape.back(), m = num_elements(shape) / n;
    const bool wide = m < n;
    const auto at = [&](std::int64_t row, std::int64_t column) {
      return q.values[static_cast<std::size_t>(wide ? column * n + row : row * n + column)];
    };
    for (std::int64_t i = 0; i < std::min(m, n); ++i) {
      for (std::int64_t j = 0; j < std::min(m, n); ++j) {
        double product = 0;
        for (std::int64_t k = 0; k < std::max(m, n); ++k) product += at(k, i) * at(k, j);
        CHECK(product == doctest::Approx(i == j ? 4 : 0).epsilon(1e-5));
      }
    }
    // A = Q R with a positive diagonal: each column of Q leans towards the column of A.
    for (std::int64_t j = 0; j < std::min(m, n); ++j) {
      double product = 0;
      for (std::int64_t i = 0; i < std::max(m, n); ++i) {
        product += at(i, j) * static_cast<double>(
                                  normal_at(static_cast<std::uint64_t>(kKey), 0,
                                            static_cast<std::uint64_t>(i * std::min(m, n) + j)));
      }
      CHECK(product > 0);
    }
    Shape local = shape, offset(shape.size(), 0);
    offset.back() = local.back() / 2;
    local.back() -= offset.back();
    const Tensor part = run(*backend, "orthogonal", {}, {DType::kFloat32, local}, attrs,
                            {.region = {shape, offset}});
    CHECK(part.values == part_of(q, {shape, offset}, local));
  }
  check_fast("orthogonal", {}, {DType::kFloat32, {0, 4}}, attrs);
}

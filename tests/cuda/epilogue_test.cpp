// Products of GPUs with what becomes of them before they are written: a bias, and relu.
#include <doctest/doctest.h>

#include <cmath>

#include "base/rng.h"
#include "cuda/placed_call.h"
#include "cuda/values.h"
#include "ops/ops.h"
#include "support/equations.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Whole numbers from -2 to 2, plus `shift`.
HostTensor numbers(const TensorType& type, std::uint64_t seed, double shift = 0) {
  return filled(type, [&](std::int64_t i) {
    return std::floor(5 * uniform_at(seed, 0, static_cast<std::uint64_t>(i))) - 2 + shift;
  });
}

/// Sums of float32 are not rounded; of bfloat16 they are, twice where the bias is added in a pass
/// of its own.
void check_biased(const EquationCase& c, const std::string& bias) {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    const std::vector<HostTensor> operands{numbers({dtype, c.shape(c.x)}, 1),
                                           numbers({dtype, c.shape(c.w)}, 2),
                                           numbers({dtype, c.shape(bias)}, 3, 0.5)};
    for (const bool relu : {false, true}) {
      INFO(c.equation(), " + ", bias, " of ", to_string(dtype), relu ? ", relu" : "");
      check_close(ops::kEinsumBias, operands, {{"equation", c.equation()}, {"relu", relu}},
                  {dtype, c.shape(c.y)}, dtype == DType::kFloat32 ? 0 : 1.0 / 64);
    }
  }
}

void check_matrices(std::int64_t m, std::int64_t n, std::int64_t k) {
  const Extents extents{{"m", m}, {"n", n}, {"k", k}};
  for (const char* x : {"m k", "k m"}) {
    for (const char* w : {"k n", "n k"}) check_biased({x, w, "m n", extents}, "n");
  }
}

}  // namespace

TEST_CASE("products with a bias on GPUs, in every layout") {
  check_matrices(70, 45, 130);
  check_matrices(64, 8, 16);
  check_matrices(300, 200, 65);
}

TEST_CASE("products of few rows with a bias on GPUs, and long ones in parts") {
  for (const std::int64_t few : {1, 3, 4}) {
    check_matrices(few, 77, 65);
    check_matrices(264, few, 200);
    check_matrices(few, 33, 5000);
  }
  check_biased({"k", "k n", "n", {{"k", 900}, {"n", 70}}}, "n");
}

TEST_CASE("products with a bias on GPUs, element by element") {
  check_matrices(7, 11, 13);
  check_biased({"m", "n", "m n", {{"m", 301}, {"n", 203}}}, "n");
}

TEST_CASE("products with a bias on GPUs of tensors of many factors") {
  const Extents heads{{"a", 3}, {"b", 7}, {"h", 4}, {"d", 6}, {"k", 24}, {"n", 20}};
  check_biased({"a b k", "k h d", "a b h d", heads}, "h d");
  check_biased({"a b h d", "h d n", "a b n", heads}, "n");
  check_biased({"b k a", "k h d", "a b h d", heads}, "h d");
  check_biased({"a b k", "d k h", "b a h d", heads}, "h d");
}

TEST_CASE("a bias is added to a sum of nothing on a GPU") {
  check_biased({"m k", "k n", "m n", {{"m", 40}, {"n", 30}, {"k", 0}}}, "n");
  check_biased({"m k", "k n", "m n", {{"m", 0}, {"n", 30}, {"k", 9}}}, "n");
}

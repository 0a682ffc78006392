#include "base/rng.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace meshwork;

TEST_CASE("philox gives the known answers of the paper's test vectors") {
  // Random123, kat_vectors: philox4x32 10
  CHECK(philox(0, 0, 0) ==
        std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ULL, ~0ULL, ~0ULL) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("distributions have their moments") {
  constexpr int kCount = 200000;
  double uniform = 0, mean = 0, square = 0, truncated_square = 0, largest = 0;
  for (int i = 0; i < kCount; ++i) {
    const auto index = static_cast<std::uint64_t>(i);
    const double u = uniform_at(7, 3, index);
    CHECK((u >= 0.0 && u < 1.0));
    uniform += u;
    const double z = normal_at(7, 3, index);
    mean += z;
    square += z * z;
    const double t = truncated_normal_at(7, 3, index);
    truncated_square += t * t;
    largest = std::max(largest, std::abs(t));
  }
  CHECK(uniform / kCount == doctest::Approx(0.5).epsilon(0.01));
  CHECK(std::abs(mean / kCount) < 0.01);
  CHECK(square / kCount == doctest::Approx(1.0).epsilon(0.02));
  CHECK(std::sqrt(truncated_square / kCount) == doctest::Approx(0.87962566).epsilon(0.01));
  CHECK(largest < 2.0);
}

TEST_CASE("streams differ by seed, path, step and index") {
  CHECK(random_key(1, "a") != random_key(2, "a"));
  CHECK(random_key(1, "a") != random_key(1, "b"));
  CHECK(uniform_at(1, 0, 5) != uniform_at(1, 1, 5));
  CHECK(uniform_at(1, 0, 5) != uniform_at(1, 0, 6));
}

#include "base/fitting_product.h"

#include <doctest/doctest.h>

using namespace meshwork;

TEST_CASE("a product of extents is there where 62 bits hold it") {
  constexpr std::int64_t kHalf = std::int64_t{1} << 31;
  CHECK(fitting_product({}) == 1);
  CHECK(fitting_product({2, 3, 4}, 8) == 192);
  CHECK(fitting_product({kHalf, kHalf}) == std::int64_t{1} << 62);
  CHECK_FALSE(fitting_product({kHalf, kHalf}, 2));
  CHECK_FALSE(fitting_product({kHalf, kHalf, kHalf}));
  CHECK_FALSE(fitting_product({2, -1}));
}

TEST_CASE("where an extent is 0, all others have to fit, in any order") {
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  CHECK(fitting_product({3, 0}, 4) == 0);
  CHECK_FALSE(fitting_product({0, kLarge, kLarge}));
  CHECK_FALSE(fitting_product({kLarge, kLarge, 0}));
}

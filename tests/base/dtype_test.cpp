#include "base/dtype.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/bfloat16.h"
#include "base/error.h"

using namespace meshwork;

namespace {

std::uint16_t rounded(float x) { return BFloat16(x).bits; }

BFloat16 of_bits(std::uint16_t bits) {
  BFloat16 x;
  x.bits = bits;
  return x;
}

}  // namespace

TEST_CASE("dtypes by name") {
  for (const DType dtype : {DType::kFloat32, DType::kInt32, DType::kInt64, DType::kUInt8,
                            DType::kBFloat16, DType::kInt8, DType::kUInt16, DType::kInt16,
                            DType::kUInt32, DType::kUInt64, DType::kFloat16, DType::kFloat64}) {
    CHECK(dtype_from_string(to_string(dtype)) == dtype);
  }
  CHECK(size_of(DType::kBFloat16) == 2);
  CHECK(is_floating(DType::kBFloat16));
  CHECK(is_floating(DType::kFloat64));
  CHECK(!is_floating(DType::kInt32));
  CHECK(!is_floating(DType::kUInt16));
  CHECK_THROWS_AS(dtype_from_string("float8"), Error);
}

TEST_CASE("every bfloat16 comes back from float32") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 x = of_bits(static_cast<std::uint16_t>(bits));
    const float wide = x;
    if (std::isnan(wide)) {
      CHECK(std::isnan(static_cast<float>(BFloat16(wide))));
    } else {
      CHECK(rounded(wide) == x.bits);
    }
  }
}

TEST_CASE("float32 goes to the nearest bfloat16, half way to the even one") {
  CHECK(static_cast<float>(BFloat16(1.0F)) == 1.0F);
  CHECK(static_cast<float>(BFloat16(1.0F + 1.0F / 256)) == 1.0F);               // half way, to even
  CHECK(static_cast<float>(BFloat16(1.0F + 3.0F / 256)) == 1.0F + 4.0F / 256);  // half way, to even
  CHECK(static_cast<float>(BFloat16(1.0F + 1.01F / 256)) == 1.0F + 2.0F / 256);
  CHECK(static_cast<float>(BFloat16(-1.0F - 0.99F / 256)) == -1.0F);
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(static_cast<float>(BFloat16(std::numeric_limits<float>::max())) == infinity);
  CHECK(static_cast<float>(BFloat16(-infinity)) == -infinity);
  CHECK(static_cast<float>(BFloat16(1e-40F)) > 0);  // subnormal numbers stay
  // NaN whose upper half alone would be infinity
  CHECK(std::isnan(static_cast<float>(BFloat16(std::bit_cast<float>(0x7F800001U)))));
}

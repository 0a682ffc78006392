#include "base/dtype.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/bfloat16.h"
#include "base/error.h"
#include "base/float16.h"

using namespace meshwork;

namespace {

std::uint16_t rounded(float x) { return BFloat16(x).bits; }

template <class Number = BFloat16>
Number of_bits(std::uint16_t bits) {
  Number x;
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

TEST_CASE("float16 is IEEE's, numbers below 2^-14 included") {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto x = of_bits<Float16>(static_cast<std::uint16_t>(bits));
    const float wide = x;
    const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
    if (exponent == 31) {
      CHECK((fraction == 0 ? std::isinf(wide) : std::isnan(wide)));
    } else {
      const double size =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      CHECK(static_cast<double>(std::abs(wide)) == size);
    }
    CHECK(std::signbit(wide) == (bits >> 15 == 1));
    if (!std::isnan(wide)) CHECK(Float16(wide).bits == x.bits);
  }
}

TEST_CASE("float32 goes to the nearest float16, half way to the even one") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto nearest = [](float x) { return static_cast<float>(Float16(x)); };
  CHECK(nearest(2049) == 2048);
  CHECK(nearest(2051) == 2052);
  CHECK(nearest(-2049.5F) == -2050);
  CHECK(nearest(std::nextafter(65520.0F, 0.0F)) == 65504);
  CHECK(nearest(65520) == infinity);
  CHECK(nearest(-1e30F) == -infinity);
  CHECK(nearest(infinity) == infinity);
  CHECK(std::isnan(nearest(std::bit_cast<float>(0x7F800001U))));
  CHECK(nearest(0x1p-25F) == 0);
  CHECK(nearest(std::nextafter(0x1p-25F, 1.0F)) == 0x1p-24F);
  CHECK(nearest(0x3p-25F) == 0x1p-23F);
  CHECK(nearest(std::nextafter(0x1p-14F, 0.0F)) == 0x1p-14F);
}

#include "data/formats/element.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/conversion.h"
#include "base/rng.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::data;
using meshwork::test::bytes_of;

namespace {

template <class T>
std::vector<float> to_floats(DType type, const std::vector<T>& values, bool swapped,
                             double scale = 1.0, double offset = 0.0) {
  std::string raw = bytes_of(values, swapped);
  std::vector<float> out(values.size());
  const auto count = static_cast<std::int64_t>(values.size());
  to_native({type, swapped}, count, reinterpret_cast<std::byte*>(raw.data()));
  CHECK(convert_elements(reinterpret_cast<const std::byte*>(raw.data()), type, count,
                         {DType::kFloat32, scale, offset}, out.data()) == count);
  return out;
}

template <class T>
std::int64_t to_ints(DType type, const std::vector<T>& values, std::vector<std::int32_t>& out,
                     double scale = 1.0, double offset = 0.0) {
  const std::string raw = bytes_of(values);
  out.assign(values.size(), 0);
  return convert_elements(reinterpret_cast<const std::byte*>(raw.data()), type,
                          static_cast<std::int64_t>(values.size()), {DType::kInt32, scale, offset},
                          out.data());
}

}  // namespace

TEST_CASE("every stored type converts from both byte orders") {
  for (const bool swapped : {false, true}) {
    CHECK(to_floats<std::uint8_t>(DType::kUInt8, {0, 255}, swapped) == std::vector{0.F, 255.F});
    CHECK(to_floats<std::int8_t>(DType::kInt8, {-128, 5}, swapped) == std::vector{-128.F, 5.F});
    CHECK(to_floats<std::uint16_t>(DType::kUInt16, {65535, 1}, swapped) ==
          std::vector{65535.F, 1.F});
    CHECK(to_floats<std::int16_t>(DType::kInt16, {-300, 2}, swapped) == std::vector{-300.F, 2.F});
    CHECK(to_floats<std::uint32_t>(DType::kUInt32, {4000000000U}, swapped) == std::vector{4e9F});
    CHECK(to_floats<std::int32_t>(DType::kInt32, {-70000}, swapped) == std::vector{-70000.F});
    CHECK(to_floats<std::uint64_t>(DType::kUInt64, {1ULL << 60U}, swapped) ==
          std::vector{std::ldexp(1.F, 60)});
    CHECK(to_floats<std::int64_t>(DType::kInt64, {-(1LL << 40U)}, swapped) ==
          std::vector{-std::ldexp(1.F, 40)});
    CHECK(to_floats<float>(DType::kFloat32, {1.5F, -0.F}, swapped) == std::vector{1.5F, -0.F});
    CHECK(to_floats<double>(DType::kFloat64, {0.1}, swapped) == std::vector{0.1F});
    // binary16: 1, -2, 65504 (largest), 2^-24 (smallest), 0.333251953125
    CHECK(to_floats<std::uint16_t>(DType::kFloat16, {0x3C00, 0xC000, 0x7BFF, 0x0001, 0x3555},
                                   swapped) ==
          std::vector{1.F, -2.F, 65504.F, std::ldexp(1.F, -24), 0.333251953125F});
  }
  const auto special = to_floats<std::uint16_t>(DType::kFloat16, {0x7C00, 0xFC00, 0x7E00}, false);
  CHECK(special[0] == std::numeric_limits<float>::infinity());
  CHECK(special[1] == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(special[2]));
}

TEST_CASE("long runs convert to what their elements convert to one by one") {
  std::string raw;
  for (std::uint64_t i = 0; raw.size() < 1003 * 8; ++i)
    raw += bytes_of<std::uint32_t>({philox(3, 0, i)[0]});
  const auto* bytes = reinterpret_cast<const std::byte*>(raw.data()) + 1;  // of no alignment
  for (const DType type :
       {DType::kUInt8, DType::kInt8, DType::kUInt16, DType::kInt16, DType::kUInt32, DType::kInt32,
        DType::kUInt64, DType::kInt64, DType::kFloat16}) {
    {
      CAPTURE(to_string(type));
      const Conversion conversion{DType::kFloat32, 1 / 255.0, -0.25};
      std::vector<float> out(1001);
      REQUIRE(convert_elements(bytes, type, 1001, conversion, out.data()) == 1001);
      bool same = true;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double value = value_at(bytes + i * size_of(type), type);
        const auto expected = static_cast<float>(value * conversion.scale + conversion.offset);
        same = same && (out[i] == expected || (std::isnan(out[i]) && std::isnan(expected)));
      }
      CHECK(same);
    }
  }
}

TEST_CASE("a scale of 1/255 gives the bits of a float32 division") {
  std::vector<std::uint8_t> raw(256);
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<std::uint8_t>(i);
  const auto scaled = to_floats(DType::kUInt8, raw, false, 0.00392156862745098);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    CHECK(scaled[i] == static_cast<float>(raw[i]) / 255.F);
  }
  CHECK(to_floats<std::uint8_t>(DType::kUInt8, {0, 255}, false, 1 / 127.5, -1) ==
        std::vector{-1.F, 1.F});
}

TEST_CASE("int32 takes whole numbers that fit and names the first other") {
  std::vector<std::int32_t> out;
  CHECK(to_ints<std::uint8_t>(DType::kUInt8, {7, 200}, out) == 2);
  CHECK(out == std::vector<std::int32_t>{7, 200});
  CHECK(to_ints<std::int64_t>(DType::kInt64, {-2147483648LL, 2147483647LL}, out) == 2);
  CHECK(out == std::vector<std::int32_t>{-2147483647 - 1, 2147483647});
  CHECK(to_ints<std::int64_t>(DType::kInt64, {1, 2147483648LL}, out) == 1);
  CHECK(to_ints<std::uint32_t>(DType::kUInt32, {4000000000U}, out) == 0);
  CHECK(to_ints<double>(DType::kFloat64, {3.0, 2.0, 1.5}, out) == 2);
  CHECK(to_ints<double>(DType::kFloat64, {std::nan("")}, out) == 0);
  CHECK(to_ints<double>(DType::kFloat64, {std::numeric_limits<double>::infinity()}, out) == 0);
  CHECK(to_ints<std::uint8_t>(DType::kUInt8, {1, 10}, out, 1, -1) == 2);
  CHECK(out == std::vector<std::int32_t>{0, 9});
  CHECK(to_ints<std::uint8_t>(DType::kUInt8, {30, 70}, out, 0.1) == 2);
  CHECK(out == std::vector<std::int32_t>{3, 7});
}

TEST_CASE("bytes convert to the bits of double precision, whatever the scale") {
  std::vector<std::uint8_t> unsigned_bytes;
  std::vector<std::int8_t> signed_bytes;
  for (int i = 0; i < 256; ++i) {
    unsigned_bytes.push_back(static_cast<std::uint8_t>(i));
    signed_bytes.push_back(static_cast<std::int8_t>(i - 128));
  }
  // In turn, so that what is kept of the conversion before is never right.
  const std::vector<std::pair<double, double>> conversions{
      {1, 0},     {1 / 255.0, 0}, {1 / 127.5, -1}, {0.1, 0.3},     {-1 / 3.0, 1e-9}, {1e-40, 0},
      {1e300, 0}, {0, 0},         {0, -2.5},       {1 / 255.0, 0}, {1 / 256., 7}};
  for (const auto& conversion : conversions) {
    const double scale = conversion.first, offset = conversion.second;
    CAPTURE(scale);
    CAPTURE(offset);
    const auto unsigned_floats = to_floats(DType::kUInt8, unsigned_bytes, false, scale, offset);
    const auto signed_floats = to_floats(DType::kInt8, signed_bytes, false, scale, offset);
    for (std::size_t i = 0; i < 256; ++i) {
      const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
      const auto right = [&](double value) {
        return bits(static_cast<float>(value * scale + offset));
      };
      REQUIRE(bits(unsigned_floats[i]) == right(unsigned_bytes[i]));
      REQUIRE(bits(signed_floats[i]) == right(signed_bytes[i]));
    }
  }
}

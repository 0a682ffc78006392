#include "base/conversion.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/bfloat16.h"
#include "base/check.h"
#include "base/float16.h"
#include "base/simd.h"

namespace meshwork {
namespace {

template <class T>
[[gnu::always_inline]] inline T load(const std::byte* raw) {
  T value;
  std::memcpy(&value, raw, sizeof(T));
  return value;
}

template <class T>
struct ToFloat32 {
  [[gnu::always_inline]] static void run(const std::byte* raw, std::int64_t count, double scale,
                                         double offset, float* out) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = load<T>(raw + i * static_cast<std::int64_t>(sizeof(T)));
      out[i] = static_cast<float>(static_cast<double>(value) * scale + offset);
    }
  }
};

/// The same for numbers of one byte where float32 is enough: a part of the scale of so few bits
/// that its products are exact, the rest of it, and one sum to round.
template <class T>
struct ByteToFloat32 {
  float high = 0;
  float low = 0;
  float offset = 0;

  [[gnu::always_inline]] float operator()(T value) const {
    const auto number = static_cast<float>(value);
    return number * high + (number * low + offset);
  }

  [[gnu::always_inline]] static void run(const T* raw, std::int64_t count, ByteToFloat32 convert,
                                         float* out) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = convert(raw[i]);
  }
};

/// The conversion, if it gives the bits of double precision for every byte; kept for the next time.
template <class T>
std::optional<ByteToFloat32<T>> byte_conversion(double scale, double offset) {
  thread_local double known_scale = 0, known_offset = 0;
  thread_local std::optional<ByteToFloat32<T>> known;
  if (scale == known_scale && offset == known_offset) return known;
  constexpr std::uint32_t kHighBits = 0xFFFF0000U;  // 8 bits of the fraction
  const float high =
      std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(scale)) & kHighBits);
  known = {high, static_cast<float>(scale - high), static_cast<float>(offset)};
  for (int i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i) {
    const auto value = static_cast<float>(static_cast<double>(i) * scale + offset);
    const float found = (*known)(static_cast<T>(i));
    if (std::bit_cast<std::uint32_t>(found) == std::bit_cast<std::uint32_t>(value)) continue;
    known.reset();
    break;
  }
  known_scale = scale;
  known_offset = offset;
  return known;
}

/// A value to int32, where it is whole (to 1e-6 of it, for scales such as 0.1) and fits.
bool round_to_int32(double value, std::int32_t& out) {
  const double whole = std::nearbyint(value);
  const double slack = 1e-6 * std::max(1.0, std::abs(value));
  if (!(std::abs(value - whole) <= slack)) return false;  // NaN fails, too
  if (whole < std::numeric_limits<std::int32_t>::min()) return false;
  if (whole > std::numeric_limits<std::int32_t>::max()) return false;
  out = static_cast<std::int32_t>(whole);
  return true;
}

template <class T>
std::int64_t to_int32(const std::byte* raw, std::int64_t count, double scale, double offset,
                      std::int32_t* out) {
  const auto at = [&](std::int64_t i) {
    return load<T>(raw + i * static_cast<std::int64_t>(sizeof(T)));
  };
  if constexpr (std::is_integral_v<T>) {
    if (scale == 1.0 && offset == 0.0) {
      for (std::int64_t i = 0; i < count; ++i) {
        if (!std::in_range<std::int32_t>(at(i))) return i;
        out[i] = static_cast<std::int32_t>(at(i));
      }
      return count;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (!round_to_int32(static_cast<double>(at(i)) * scale + offset, out[i])) return i;
  }
  return count;
}

/// Calls f with a value of the C++ type that stands for `dtype`.
template <class F>
auto with_type(DType dtype, const F& f) {
  switch (dtype) {
    case DType::kUInt8:
      return f(std::uint8_t{});
    case DType::kInt8:
      return f(std::int8_t{});
    case DType::kUInt16:
      return f(std::uint16_t{});
    case DType::kInt16:
      return f(std::int16_t{});
    case DType::kUInt32:
      return f(std::uint32_t{});
    case DType::kInt32:
      return f(std::int32_t{});
    case DType::kUInt64:
      return f(std::uint64_t{});
    case DType::kInt64:
      return f(std::int64_t{});
    case DType::kFloat16:
      return f(Float16{});
    case DType::kFloat32:
      return f(float{});
    case DType::kFloat64:
      return f(double{});
    case DType::kBFloat16:
      return f(BFloat16{});
  }
  check_failed(__FILE__, __LINE__, "a dtype of stored numbers", std::string(to_string(dtype)));
}

template <class T>
std::int64_t convert_as(const std::byte* raw, std::int64_t count, const Conversion& conversion,
                        void* out) {
  if (conversion.dtype == DType::kInt32) {
    return to_int32<T>(raw, count, conversion.scale, conversion.offset,
                       static_cast<std::int32_t*>(out));
  }
  MW_CHECK(conversion.dtype == DType::kFloat32);
  auto* floats = static_cast<float*>(out);
  if constexpr (sizeof(T) == 1) {
    if (const auto byte = byte_conversion<T>(conversion.scale, conversion.offset)) {
      static const auto bytes_to_float32 = vectorized<ByteToFloat32<T>>();
      bytes_to_float32(reinterpret_cast<const T*>(raw), count, *byte, floats);
      return count;
    }
  }
  static const auto to_float32 = vectorized<ToFloat32<T>>();
  to_float32(raw, count, conversion.scale, conversion.offset, floats);
  return count;
}

}  // namespace

std::int64_t convert_elements(const std::byte* raw, DType from, std::int64_t count,
                              const Conversion& conversion, void* out) {
  return with_type(
      from, [&](auto value) { return convert_as<decltype(value)>(raw, count, conversion, out); });
}

double value_at(const std::byte* raw, DType dtype) {
  return with_type(dtype,
                   [&](auto value) { return static_cast<double>(load<decltype(value)>(raw)); });
}

namespace {

template <class T>
void round_as(const float* numbers, std::int64_t count, void* out) {
  for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(out)[i] = T(numbers[i]);
}

}  // namespace

void round_elements(const float* numbers, std::int64_t count, DType to, void* out) {
  MW_CHECK(is_narrow_float(to), "{}", to_string(to));
  to == DType::kBFloat16 ? round_as<BFloat16>(numbers, count, out)
                         : round_as<Float16>(numbers, count, out);
}

float rounded_to(DType dtype, float number) {
  std::byte bits[sizeof(float)];
  round_elements(&number, 1, dtype, bits);
  return static_cast<float>(value_at(bits, dtype));
}

namespace {

/// Place in the last dimension of one element after the other.
class Channel {
 public:
  Channel(const Normalization& normalization, std::int64_t start)
      : count_(normalization.mean.size()), place_(static_cast<std::size_t>(start) % count_) {}

  std::size_t next() {
    const std::size_t place = place_;
    if (++place_ == count_) place_ = 0;
    return place;
  }

 private:
  std::size_t count_;
  std::size_t place_;
};

/// Of numbers that are float32.
void normalize(const Normalization& normalization, std::int64_t start, std::span<float> values) {
  if (normalization.mean.size() == 1) {
    const auto mean = static_cast<float>(normalization.mean[0]);
    const auto std = static_cast<float>(normalization.std[0]);
    for (float& value : values) value = (value - mean) / std;
    return;
  }
  Channel channel(normalization, start);
  for (float& value : values) {
    const std::size_t c = channel.next();
    value = (value - static_cast<float>(normalization.mean[c])) /
            static_cast<float>(normalization.std[c]);
  }
}

}  // namespace

bool has_more_digits_than_float32(DType stored) {
  return stored == DType::kFloat64 || (!is_floating(stored) && size_of(stored) >= sizeof(float));
}

void convert_and_normalize(const std::byte* raw, DType from, const Conversion& conversion,
                           const Normalization& normalization, std::int64_t start,
                           std::span<float> out) {
  if (normalization.empty() || !has_more_digits_than_float32(from)) {
    convert_elements(raw, from, std::ssize(out), conversion, out.data());
    if (!normalization.empty()) normalize(normalization, start, out);
    return;
  }
  with_type(from, [&](auto type) {
    using T = decltype(type);
    Channel channel(normalization, start);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t c = channel.next();
      const auto value = static_cast<double>(load<T>(raw + i * sizeof(T)));
      const double centred = value * conversion.scale + conversion.offset - normalization.mean[c];
      out[i] = static_cast<float>(centred) / static_cast<float>(normalization.std[c]);
    }
  });
}

}  // namespace meshwork

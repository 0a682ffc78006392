#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

/// How kernels that move elements find them: indices taken apart without divisions, and words of as
/// many bytes as stand together.
namespace meshwork::cuda {

/// A number that indices are divided by, as a multiplication and a shift (Granlund and Montgomery
/// 1994). Every source has the same struct (device/cuda/prelude.h).
struct Divisor {
  std::uint64_t value = 1;
  std::uint32_t factor = 1;
  std::uint32_t shift = 0;
};
Divisor divisor_of(std::int64_t value);  ///< 1 for 0, of an empty tensor

/// Defines Index, the type of the indices of a kernel, all of them below `count`: uint32 where that
/// is enough, and then nothing is divided.
std::string define_index(std::int64_t count);

/// For sources that take indices apart. It needs define_index.
inline constexpr std::string_view kIndexText = R"cuda(
// The place in the last of the dimensions that `rest` counts over; `rest` then counts over the
// others.
DEVICE Index take_last(Index& rest, const Divisor& extent) {
  const Index quotient = divide(rest, extent);
  const Index place = rest - quotient * (Index)extent.value;
  rest = quotient;
  return place;
}

struct alignas(16) uint128 {
  uint64 low, high;
};
)cuda";

/// The most bytes, of 16 at most, that divide all of these: addresses, strides, widths.
std::int64_t word_bytes(std::initializer_list<std::int64_t> bytes);

inline std::int64_t address_of(const std::byte* data) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
}

/// "#define T uint64\n" for words of 8 bytes: kernels that move elements do not ask what they are.
std::string define_word(const std::string& name, std::int64_t bytes);

/// Group<T>: N elements side by side, which a thread reads or writes at once. It needs a definition
/// of N.
inline constexpr std::string_view kGroupText = R"cuda(
template <class Number>
struct alignas(sizeof(Number) * N > 16 ? 16 : sizeof(Number) * N) Group {
  Number v[N];
};
)cuda";

}  // namespace meshwork::cuda

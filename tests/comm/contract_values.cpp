#include "contract_values.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <utility>

namespace meshwork::test {
namespace {

template <class T>
T value(int rank, std::int64_t index, int round, bool exact) {
  const std::uint32_t bits = hash(rank, index, round);
  if constexpr (std::is_same_v<T, float>) {
    if (exact) return static_cast<float>(bits % 65536) - 30000;
    // Magnitudes whose sums depend on their order.
    constexpr std::array<float, 8> kScales{1e8F, -1e8F, 1.0F, 0.1F, -3.0F, 1e-3F, 1e4F, -1e4F};
    return kScales[bits % 8] * (1.0F + static_cast<float>((bits >> 8U) % 3));
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<T>((std::uint64_t{bits} << 32U) ^ hash(rank, index, round + 77));
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
T combine(T a, T b, Reduction reduction) {
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::kSum) return a + b;
    if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
    return std::max(a, b);
  } else {
    if (reduction == Reduction::kMax) return std::max(a, b);
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  }
}

}  // namespace

template <class T>
std::vector<T> values(int rank, std::int64_t begin, std::int64_t count, int round) {
  const bool exact = ExactSums::live();
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& next : result) next = value<T>(rank, begin++, round, exact);
  return result;
}

template <class T>
std::vector<T> reduced(int size, std::int64_t begin, std::int64_t count, int round,
                       Reduction reduction) {
  std::vector<std::vector<T>> level;
  for (int r = 0; r < size; ++r) level.push_back(values<T>(r, begin, count, round));
  for (std::size_t n = level.size(); n > 1; n = (n + 1) / 2) {
    for (std::size_t i = 0; i + 1 < n; i += 2) {
      std::transform(level[i].begin(), level[i].end(), level[i + 1].begin(), level[i].begin(),
                     [&](T a, T b) { return combine(a, b, reduction); });
      std::swap(level[i / 2], level[i]);
    }
    if (n % 2 != 0) std::swap(level[n / 2], level[n - 1]);
  }
  return std::move(level[0]);
}

#define MW_INSTANTIATE(T)                                               \
  template std::vector<T> values(int, std::int64_t, std::int64_t, int); \
  template std::vector<T> reduced(int, std::int64_t, std::int64_t, int, Reduction);
MW_INSTANTIATE(float)
MW_INSTANTIATE(std::int32_t)
MW_INSTANTIATE(std::int64_t)
MW_INSTANTIATE(std::uint8_t)
MW_INSTANTIATE(std::uint16_t)
#undef MW_INSTANTIATE

}  // namespace meshwork::test

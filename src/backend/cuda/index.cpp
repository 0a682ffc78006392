#include "backend/cuda/index.h"

#include <algorithm>
#include <bit>

#include "backend/cuda/kernel.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr std::int64_t kNarrow = std::int64_t{1} << 31;  // such an index and such a divisor fit

}  // namespace

Divisor divisor_of(std::int64_t value) {
  Divisor divisor;
  divisor.value = static_cast<std::uint64_t>(std::max<std::int64_t>(value, 1));
  if (divisor.value > kNarrow) return divisor;  // of wide indices
  divisor.shift = static_cast<std::uint32_t>(std::bit_width(divisor.value - 1));
  const std::uint64_t excess = (std::uint64_t{1} << divisor.shift) - divisor.value;
  divisor.factor = static_cast<std::uint32_t>((excess << 32U) / divisor.value + 1);
  return divisor;
}

std::string define_index(std::int64_t count) {
  return define("Index", count > kNarrow ? DType::kUInt64 : DType::kUInt32);
}

std::int64_t word_bytes(std::initializer_list<std::int64_t> bytes) {
  std::int64_t all = 16;
  for (const std::int64_t each : bytes) all |= each;
  return all & -all;
}

std::string define_word(const std::string& name, std::int64_t bytes) {
  MW_CHECK(bytes <= 16, "a word of {} bytes", bytes);
  return fmt::format("#define {} uint{}\n", name, 8 * bytes);
}

}  // namespace meshwork::cuda

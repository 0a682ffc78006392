#include "backend/cuda/windows/patches/extents.h"

#include <initializer_list>

namespace meshwork::cuda::windows {
namespace {

constexpr std::int64_t kRegisters = 65536;
/// What a thread needs beside its sums.
constexpr std::int64_t kOtherRegisters = 56;

}  // namespace

std::int64_t pixels_of(std::int64_t width) {
  std::int64_t best = 7;
  for (const std::int64_t pixels : {8, 6, 5, 4}) {
    if (rounded_up(width, pixels) < rounded_up(width, best)) best = pixels;
  }
  return best;
}

std::int64_t resident_blocks(std::int64_t threads, std::int64_t sums) {
  const std::int64_t registers = rounded_up(sums + kOtherRegisters, 8);
  return std::max<std::int64_t>(kRegisters / (rounded_up(threads, 32) * registers), 1);
}

}  // namespace meshwork::cuda::windows

#include "base/rng.h"

#include <Random123/philox.h>
#include <xxhash.h>

#include <cmath>
#include <numbers>

namespace meshwork {
namespace {

constexpr float kTwoToMinus24 = 1.0F / 16777216.0F;

/// Box-Muller on lanes 2 * (index % 2) and the next of counter index / 2; `attempt` < 2^16.
double box_muller(std::uint64_t key, std::uint64_t step, std::uint64_t index,
                  std::uint64_t attempt) {
  const auto bits = philox(key, (attempt << 48U) ^ step, index / 2);
  const std::size_t lane = 2 * (index % 2);
  const double u1 = (bits[lane] + 0.5) / 4294967296.0;  // in (0, 1), so the logarithm is finite
  const double u2 = bits[lane + 1] / 4294967296.0;
  return std::sqrt(-2.0 * std::log(u1)) * std::cos(2.0 * std::numbers::pi * u2);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_high,
                                    std::uint64_t counter_low) {
  const r123::Philox4x32::ctr_type counter{
      {static_cast<std::uint32_t>(counter_low), static_cast<std::uint32_t>(counter_low >> 32U),
       static_cast<std::uint32_t>(counter_high), static_cast<std::uint32_t>(counter_high >> 32U)}};
  const r123::Philox4x32::key_type words{
      {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)}};
  const auto bits = r123::Philox4x32{}(counter, words);
  return {bits[0], bits[1], bits[2], bits[3]};
}

std::uint64_t random_key(std::uint64_t seed, std::string_view path) {
  return XXH64(path.data(), path.size(), seed);
}

float uniform_at(std::uint64_t key, std::uint64_t step, std::uint64_t index) {
  const auto bits = philox(key, step, index / 4);
  return static_cast<float>(bits[index % 4] >> 8U) * kTwoToMinus24;
}

float normal_at(std::uint64_t key, std::uint64_t step, std::uint64_t index) {
  return static_cast<float>(box_muller(key, step, index, 0));
}

float truncated_normal_at(std::uint64_t key, std::uint64_t step, std::uint64_t index) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    const double z = box_muller(key, step, index, attempt);
    if (std::abs(z) < 2.0) return static_cast<float>(z);
  }
}

}  // namespace meshwork

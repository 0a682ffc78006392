#include "backend/cpu/uniform.h"

#include <algorithm>

#include "backend/cpu/simd.h"
#include "base/rng.h"

namespace meshwork::cpu {
namespace {

/// Philox4x32-10 on kCounters counters at once. Lanes are the same as those of philox().
constexpr std::int64_t kCounters = 32;

struct Counters {
  std::uint32_t lane[4][kCounters];
};

[[gnu::always_inline]] inline void philox_rounds(Counters& c, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32U);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (std::int64_t j = 0; j < kCounters; ++j) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c.lane[0][j];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c.lane[2][j];
      c.lane[0][j] = static_cast<std::uint32_t>(p1 >> 32U) ^ c.lane[1][j] ^ k0;
      c.lane[1][j] = static_cast<std::uint32_t>(p1);
      c.lane[2][j] = static_cast<std::uint32_t>(p0 >> 32U) ^ c.lane[3][j] ^ k1;
      c.lane[3][j] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

/// 24 bits are a whole number as int32 and as float.
[[gnu::always_inline]] inline float number(const DrawStream& stream, std::uint32_t bits) {
  const float u = static_cast<float>(static_cast<std::int32_t>(bits >> 8U)) * (1.0F / 16777216.0F);
  return stream.shift + stream.scale * u;
}

/// y = the elements of counters first, first + 1, ..: four each.
struct UniformLoop {
  [[gnu::always_inline]] static void run(const DrawStream* stream, std::uint64_t first, float* y,
                                         std::int64_t counters) {
    for (std::int64_t begin = 0; begin < counters; begin += kCounters) {
      Counters c;
      const std::uint64_t start = first + static_cast<std::uint64_t>(begin);
#pragma omp simd
      for (std::int64_t j = 0; j < kCounters; ++j) {
        const std::uint64_t counter = start + static_cast<std::uint64_t>(j);
        c.lane[0][j] = static_cast<std::uint32_t>(counter);
        c.lane[1][j] = static_cast<std::uint32_t>(counter >> 32U);
        c.lane[2][j] = static_cast<std::uint32_t>(stream->step);
        c.lane[3][j] = static_cast<std::uint32_t>(stream->step >> 32U);
      }
      philox_rounds(c, stream->key);
      float drawn[4 * kCounters];
#pragma omp simd
      for (std::int64_t j = 0; j < kCounters; ++j) {
        drawn[4 * j] = number(*stream, c.lane[0][j]);
        drawn[4 * j + 1] = number(*stream, c.lane[1][j]);
        drawn[4 * j + 2] = number(*stream, c.lane[2][j]);
        drawn[4 * j + 3] = number(*stream, c.lane[3][j]);
      }
      std::copy_n(drawn, 4 * std::min(kCounters, counters - begin), y + 4 * begin);
    }
  }
};

}  // namespace

void draw_uniform(const DrawStream& stream, std::uint64_t index, float* y, std::int64_t count) {
  const auto one = [&] {
    *y++ = stream.shift + stream.scale * uniform_at(stream.key, stream.step, index++);
    --count;
  };
  while (count > 0 && index % 4 != 0) one();
  const std::int64_t counters = count / 4;
  if (counters > 0) {
    vectorized<UniformLoop>()(&stream, index / 4, y, counters);
    y += 4 * counters;
    index += static_cast<std::uint64_t>(4 * counters);
    count -= 4 * counters;
  }
  while (count > 0) one();
}

}  // namespace meshwork::cpu

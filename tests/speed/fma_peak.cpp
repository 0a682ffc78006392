#include "speed/fma_peak.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace meshwork::speed {
namespace {

/// More than the units of a core and their latency keep busy.
constexpr int kChains = 12;

/// Multiply-adds in kChains chains of vectors; gives what keeps them from being left out. Chains
/// that start alike would be merged.
using Chains = float (*)(std::int64_t rounds);

struct Unit {
  Chains run;
  int lanes;
};

float start_of(int chain) { return 1.0F + 0.01F * static_cast<float>(chain); }

float run_scalar(std::int64_t rounds) {
  float sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = start_of(i);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (float& sum : sums) sum = sum * 0.999F + 0.001F;
  }
  return std::accumulate(sums, sums + kChains, 0.0F);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] float run_avx2(std::int64_t rounds) {
  __m256 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm256_set1_ps(start_of(i));
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.001F);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m256& sum : sums) total += _mm256_cvtss_f32(sum);
  return total;
}

[[gnu::target("avx512f")]] float run_avx512(std::int64_t rounds) {
  __m512 sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(start_of(i));
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.001F);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (__m512& sum : sums) sum = _mm512_fmadd_ps(sum, factor, term);
  }
  float total = 0;
  for (const __m512& sum : sums) total += _mm512_cvtss_f32(sum);
  return total;
}
#endif

Unit best_unit() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {run_avx512, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {run_avx2, 8};
#endif
  return {run_scalar, 1};
}

/// The fastest of several samples, so that the clock is up and nothing else ran.
double peak_of_thread() {
  const Unit unit = best_unit();
  constexpr std::int64_t kRounds = 500'000;
  double best = 0;
  for (int sample = 0; sample < 15; ++sample) {
    const auto start = std::chrono::steady_clock::now();
    volatile float kept = unit.run(kRounds);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    static_cast<void>(kept);
    best = std::max(best, 2.0 * kChains * unit.lanes * kRounds / time.count());
  }
  return best;
}

}  // namespace

double fma_peak(int threads) {
  std::vector<double> peaks(static_cast<std::size_t>(threads));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < peaks.size(); ++i) {
    others.emplace_back([&peaks, i] { peaks[i] = peak_of_thread(); });
  }
  peaks[0] = peak_of_thread();
  others.clear();
  return std::accumulate(peaks.begin(), peaks.end(), 0.0);
}

}  // namespace meshwork::speed

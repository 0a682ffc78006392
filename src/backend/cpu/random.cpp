// random_uniform:   y = low + (high - low) u, u uniform in [0, 1)
// random_normal:    y = mean + stddev z, z standard normal
// truncated_normal: as random_normal, |z| < 2
// The numbers are those of base/rng.h at the global, row-major index of each element.
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/views.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rng.h"

namespace meshwork::cpu {
namespace {

/// What a launch draws: shift + scale * draw.
struct Stream {
  std::uint64_t key = 0;
  std::uint64_t step = 0;
  float shift = 0;
  float scale = 1;
};

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
[[gnu::always_inline]] inline float number(const Stream& stream, std::uint32_t bits) {
  const float u = static_cast<float>(static_cast<std::int32_t>(bits >> 8U)) * (1.0F / 16777216.0F);
  return stream.shift + stream.scale * u;
}

/// y = the elements of counters first, first + 1, ..: four each.
struct UniformLoop {
  [[gnu::always_inline]] static void run(const Stream* stream, std::uint64_t first, float* y,
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

/// `count` elements from the global index `index` on.
void draw_uniform(const Stream& stream, std::uint64_t index, float* y, std::int64_t count) {
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

template <float (*At)(std::uint64_t, std::uint64_t, std::uint64_t)>
void draw_each(const Stream& stream, std::uint64_t index, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = stream.shift +
           stream.scale * At(stream.key, stream.step, index + static_cast<std::uint64_t>(i));
  }
}

/// The part of a tensor that a region shows, as runs of elements that are neighbours in the whole.
struct Runs {
  std::int64_t length = 1;
  Shape extents;  ///< of the runs
  Shape strides;  ///< in the whole tensor, between runs
  std::int64_t begin = 0;

  std::uint64_t index(std::int64_t run) const {
    std::int64_t place = begin;
    for (std::size_t d = extents.size(); d-- > 0;) {
      place += run % extents[d] * strides[d];
      run /= extents[d];
    }
    return static_cast<std::uint64_t>(place);
  }
};

Runs runs_of(const Shape& local, const Region& region) {
  const Shape strides = row_major_strides(region.global);
  Runs runs;
  std::size_t d = local.size();
  bool whole = true;  // of all dimensions behind d
  while (d > 0 && whole) {
    --d;
    runs.length *= local[d];
    whole = local[d] == region.global[d];
  }
  runs.extents.assign(local.begin(), local.begin() + static_cast<std::ptrdiff_t>(d));
  runs.strides.assign(strides.begin(), strides.begin() + static_cast<std::ptrdiff_t>(d));
  for (std::size_t i = 0; i < local.size(); ++i) runs.begin += region.offset[i] * strides[i];
  return runs;
}

using Draw = void (*)(const Stream&, std::uint64_t, float*, std::int64_t);

Launch random(const KernelArgs& args, double shift, double scale, Draw draw) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const Runs runs = runs_of(args.output.type.shape, args.output.region);
  const std::int64_t count = num_elements(args.output.type.shape);
  if (count == 0) return [] {};
  const Stream fixed{static_cast<std::uint64_t>(args.attrs.integer("key")), 0,
                     static_cast<float>(shift), static_cast<float>(scale)};
  return [args, runs, count, fixed, draw] {
    Stream stream = fixed;
    stream.step = step_of(args);
    for_each_range(count, [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t within = begin % runs.length;
        const std::int64_t together = std::min(end - begin, runs.length - within);
        draw(stream, runs.index(begin / runs.length) + static_cast<std::uint64_t>(within),
             args.output.as<float>() + begin, together);
        begin += together;
      }
    });
  };
}

}  // namespace

Launch random_uniform(const KernelArgs& args) {
  const double low = args.attrs.real("low");
  return random(args, low, args.attrs.real("high") - low, draw_uniform);
}

Launch random_normal(const KernelArgs& args) {
  return random(args, args.attrs.real("mean"), args.attrs.real("stddev"), draw_each<normal_at>);
}

Launch truncated_normal(const KernelArgs& args) {
  return random(args, args.attrs.real("mean"), args.attrs.real("stddev"),
                draw_each<truncated_normal_at>);
}

}  // namespace meshwork::cpu

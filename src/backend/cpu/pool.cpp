// sum_pool:       y[o] = sum over k of x[o * stride - padding + k], as far as x has it
// sum_pool_input: x[i] = sum of y[o] over the windows that read i
// max_pool:       y[o] = the greatest x of its window; NaN if there is one, -inf of none
// max_pool_input: dx[i] = sum of dy[o] over the windows whose first greatest x is i
#include <algorithm>
#include <array>
#include <limits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/slide.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "elementwise/arithmetic.h"
#include "elementwise/comparison.h"

namespace meshwork::cpu {
namespace {

constexpr std::size_t kSpatial = 3;

/// Channels whose greatest elements are looked for at a time.
constexpr std::int64_t kChannels = 256;

/// Elements of a window that are taken in one go: those of the most common pool, 2 x 2.
constexpr int kTogether = 4;

/// A pool in three spatial dimensions, the missing ones in front, of extent one.
struct Pool {
  std::int64_t images = 0;
  std::int64_t channels = 0;
  std::array<Slide, kSpatial> slides;
  /// Where x begins in another part of its tensor, of these extents.
  std::array<std::int64_t, kSpatial> shift{}, extents{};

  std::int64_t x_pixels() const { return slides[0].x * slides[1].x * slides[2].x; }
  std::int64_t y_pixels() const { return slides[0].y * slides[1].y * slides[2].y; }
  std::int64_t part_pixels() const { return extents[0] * extents[1] * extents[2]; }
};

Pool pool_of(const KernelArgs& args, const TensorView& x, const TensorView& y,
             const TensorView& part) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const auto slides = slides_between(args.attrs, x, y, args.attrs.integers("window"));
  MW_CHECK(slides.size() <= kSpatial);
  Pool pool;
  pool.images = x.type.shape[0];
  pool.channels = x.type.shape.back();
  const std::size_t missing = kSpatial - slides.size();
  for (std::size_t d = 0; d < kSpatial; ++d) {
    const std::size_t dim = d - missing + 1;
    pool.slides[d] = d < missing ? Slide{.x = 1, .y = 1} : slides[d - missing];
    pool.shift[d] = d < missing ? 0 : x.region.offset[dim] - part.region.offset[dim];
    pool.extents[d] = d < missing ? 1 : part.type.shape[dim];
  }
  return pool;
}

/// The places of the window of one result that x has.
struct Taps {
  std::int64_t begin[kSpatial], end[kSpatial], first[kSpatial];

  [[gnu::always_inline]] void set(const Slide& slide, std::size_t d, std::int64_t o) {
    first[d] = o * slide.stride - slide.padding;
    begin[d] = first[d] < 0 ? -first[d] : 0;
    end[d] = slide.x - first[d] < slide.window ? slide.x - first[d] : slide.window;
  }

  [[gnu::always_inline]] std::int64_t count() const {
    std::int64_t taps = 1;
    for (std::size_t d = 0; d < kSpatial; ++d) taps *= end[d] > begin[d] ? end[d] - begin[d] : 0;
    return taps;
  }

  /// body(i0, i1, i2) for the elements of x, in order.
  template <class Body>
  [[gnu::always_inline]] void for_each(const Body& body) const {
    for (std::int64_t k0 = begin[0]; k0 < end[0]; ++k0) {
      for (std::int64_t k1 = begin[1]; k1 < end[1]; ++k1) {
        for (std::int64_t k2 = begin[2]; k2 < end[2]; ++k2) {
          body(first[0] + k0, first[1] + k1, first[2] + k2);
        }
      }
    }
  }
};

/// body(taps, place) for each result of row `row` of all (images, y0, y1), or of image `image`.
template <class Body>
[[gnu::always_inline]] inline void for_each_in_row(const Pool& pool, std::int64_t row,
                                                   const Body& body) {
  Taps taps;
  taps.set(pool.slides[0], 0, row / pool.slides[1].y % pool.slides[0].y);
  taps.set(pool.slides[1], 1, row % pool.slides[1].y);
  for (std::int64_t o = 0; o < pool.slides[2].y; ++o) {
    taps.set(pool.slides[2], 2, o);
    body(taps, row * pool.slides[2].y + o);
  }
}

[[gnu::always_inline]] inline std::int64_t pixel(const Pool& pool, std::int64_t i0, std::int64_t i1,
                                                 std::int64_t i2) {
  return (i0 * pool.slides[1].x + i1) * pool.slides[2].x + i2;
}

/// Rows of results from `begin` to `end`, each the fold of its window with Op.
template <class Op>
struct FoldWindowsLoop {
  [[gnu::always_inline]] static void run(const Pool& pool, const float* x, float* y, float nothing,
                                         std::int64_t begin, std::int64_t end) {
    const std::int64_t channels = pool.channels;
    const std::int64_t rows = pool.slides[0].y * pool.slides[1].y;
    for (std::int64_t row = begin; row < end; ++row) {
      const float* image = x + row / rows * pool.x_pixels() * channels;
      for_each_in_row(
          pool, row, [&](const Taps& taps, std::int64_t place) __attribute__((always_inline)) {
            float* result = y + place * channels;
            const float* elements[kTogether];
            int waiting = 0;
            for (std::int64_t c = 0; c < channels; ++c) result[c] = nothing;
            taps.for_each([&](std::int64_t i0, std::int64_t i1, std::int64_t i2)
                              __attribute__((always_inline)) {
                                elements[waiting++] = image + pixel(pool, i0, i1, i2) * channels;
                                if (waiting == kTogether) {
                                  fold_together(elements, result, channels);
                                  waiting = 0;
                                }
                              });
            for (int i = 0; i < waiting; ++i) {
              const float* element = elements[i];
#pragma omp simd
              for (std::int64_t c = 0; c < channels; ++c) {
                result[c] = Op::apply(element[c], result[c]);
              }
            }
          });
    }
  }

 private:
  // One after the other, the element first: whether it is NaN is then asked of what was loaded, not
  // of what was chosen, which compilers would not vectorize.
  [[gnu::always_inline]] static void fold_together(const float* const* elements, float* result,
                                                   std::int64_t channels) {
    const float *a = elements[0], *b = elements[1], *c = elements[2], *d = elements[3];
#pragma omp simd
    for (std::int64_t i = 0; i < channels; ++i) {
      const float two = Op::apply(b[i], Op::apply(a[i], result[i]));
      result[i] = Op::apply(d[i], Op::apply(c[i], two));
    }
  }
};

/// Adds y to what its windows read, in one image.
struct SpreadLoop {
  [[gnu::always_inline]] static void run(const Pool& pool, const float* y, float* x) {
    const std::int64_t channels = pool.channels;
    for (std::int64_t i = 0; i < pool.x_pixels() * channels; ++i) x[i] = 0;
    const std::int64_t rows = pool.slides[0].y * pool.slides[1].y;
    for (std::int64_t row = 0; row < rows; ++row) {
      for_each_in_row(
          pool, row, [&](const Taps& taps, std::int64_t place) __attribute__((always_inline)) {
            const float* result = y + place * channels;
            taps.for_each([&](std::int64_t i0, std::int64_t i1, std::int64_t i2)
                              __attribute__((always_inline)) {
                                float* element = x + pixel(pool, i0, i1, i2) * channels;
#pragma omp simd
                                for (std::int64_t c = 0; c < channels; ++c) element[c] += result[c];
                              });
          });
    }
  }
};

/// Whether `value` takes the place of `best` as the first of the greatest; NaN is the greatest.
[[gnu::always_inline]] inline bool is_greater(float value, float best) {
  return (value > best) | ((value != value) & (best == best));
}

/// Adds dy to the first of the greatest elements of its window, in one image.
struct SpreadToFirstLoop {
  [[gnu::always_inline]] static void run(const Pool& pool, const float* x, const float* dy,
                                         float* dx) {
    const std::int64_t channels = pool.channels;
    for (std::int64_t i = 0; i < pool.part_pixels() * channels; ++i) dx[i] = 0;
    const std::int64_t rows = pool.slides[0].y * pool.slides[1].y;
    for (std::int64_t row = 0; row < rows; ++row) {
      for_each_in_row(
          pool, row, [&](const Taps& taps, std::int64_t place) __attribute__((always_inline)) {
            if (taps.count() == kTogether &&
                spread_together(pool, taps, x, dy + place * channels, dx)) {
              return;
            }
            for (std::int64_t c = 0; c < channels; c += kChannels) {
              const std::int64_t rest = channels - c;
              spread(pool, taps, x + c, dy + place * channels + c, dx + c,
                     rest < kChannels ? rest : kChannels);
            }
          });
    }
  }

 private:
  /// Where an element of x lies in dx; -1 if elsewhere.
  [[gnu::always_inline]] static std::int64_t part_pixel(const Pool& pool, std::int64_t i0,
                                                        std::int64_t i1, std::int64_t i2) {
    const std::int64_t j0 = i0 + pool.shift[0], j1 = i1 + pool.shift[1], j2 = i2 + pool.shift[2];
    const bool inside = j0 >= 0 && j0 < pool.extents[0] && j1 >= 0 && j1 < pool.extents[1] &&
                        j2 >= 0 && j2 < pool.extents[2];
    return inside ? (j0 * pool.extents[1] + j1) * pool.extents[2] + j2 : -1;
  }

  /// The window of a common pool in one go; false if not all of it lies in dx.
  [[gnu::always_inline]] static bool spread_together(const Pool& pool, const Taps& taps,
                                                     const float* x, const float* dy, float* dx) {
    const float* from[kTogether];
    float* to[kTogether];
    int tap = 0;
    bool inside = true;
    taps.for_each([&](std::int64_t i0, std::int64_t i1, std::int64_t i2)
                      __attribute__((always_inline)) {
                        const std::int64_t place = part_pixel(pool, i0, i1, i2);
                        inside = inside && place >= 0;
                        from[tap] = x + pixel(pool, i0, i1, i2) * pool.channels;
                        to[tap++] = dx + place * pool.channels;
                      });
    if (!inside) return false;
    const float *a = from[0], *b = from[1], *c = from[2], *d = from[3];
    float *to_a = to[0], *to_b = to[1], *to_c = to[2], *to_d = to[3];
#pragma omp simd
    for (std::int64_t i = 0; i < pool.channels; ++i) {
      const bool b_wins = is_greater(b[i], a[i]), d_wins = is_greater(d[i], c[i]);
      const float ab = b_wins ? b[i] : a[i], cd = d_wins ? d[i] : c[i];
      const bool nan_ab = (a[i] != a[i]) | (b[i] != b[i]), nan_cd = (c[i] != c[i]) | (d[i] != d[i]);
      const bool behind = (cd > ab) | (nan_cd & !nan_ab);
      const float upper = behind ? 0.0F : dy[i], lower = behind ? dy[i] : 0.0F;
      to_a[i] += b_wins ? 0.0F : upper;
      to_b[i] += b_wins ? upper : 0.0F;
      to_c[i] += d_wins ? 0.0F : lower;
      to_d[i] += d_wins ? lower : 0.0F;
    }
    return true;
  }

  [[gnu::always_inline]] static void spread(const Pool& pool, const Taps& taps, const float* x,
                                            const float* dy, float* dx, std::int64_t count) {
    float greatest[kChannels];
    std::int32_t first[kChannels];
    std::int32_t tap = 0;
    taps.for_each([&](std::int64_t i0, std::int64_t i1, std::int64_t i2)
                      __attribute__((always_inline)) {
                        const float* element = x + pixel(pool, i0, i1, i2) * pool.channels;
                        const bool begins = tap == 0;
#pragma omp simd
                        for (std::int64_t c = 0; c < count; ++c) {
                          const bool taken = begins | is_greater(element[c], greatest[c]);
                          greatest[c] = taken ? element[c] : greatest[c];
                          first[c] = taken ? tap : first[c];
                        }
                        ++tap;
                      });
    tap = 0;
    taps.for_each([&](std::int64_t i0, std::int64_t i1, std::int64_t i2)
                      __attribute__((always_inline)) {
                        const std::int64_t place = part_pixel(pool, i0, i1, i2);
                        if (place >= 0) {
                          float* element = dx + place * pool.channels;
#pragma omp simd
                          for (std::int64_t c = 0; c < count; ++c)
                            element[c] += first[c] == tap ? dy[c] : 0.0F;
                        }
                        ++tap;
                      });
  }
};

template <class Op>
Launch fold_windows(const KernelArgs& args, float nothing) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const Pool pool = pool_of(args, x, y, x);
  if (num_elements(y.type.shape) == 0) return [] {};
  return [pool, nothing, x = x.as<float>(), y = y.as<float>(),
          loop = vectorized<FoldWindowsLoop<Op>>()] {
    const std::int64_t rows = pool.images * pool.slides[0].y * pool.slides[1].y;
    const std::int64_t row_elements = pool.slides[2].y * pool.channels;
    const std::int64_t task_rows = std::max<std::int64_t>(1, kTaskElements / row_elements);
    for_each_task(ceil_divide(rows, task_rows), rows * row_elements, [&](std::int64_t task) {
      loop(pool, x, y, nothing, task * task_rows, std::min(rows, (task + 1) * task_rows));
    });
  };
}

}  // namespace

Launch sum_pool(const KernelArgs& args) { return fold_windows<elementwise::Add>(args, 0); }

Launch max_pool(const KernelArgs& args) {
  return fold_windows<elementwise::Maximum>(args, -std::numeric_limits<float>::infinity());
}

Launch sum_pool_input(const KernelArgs& args) {
  const TensorView &y = args.inputs[0], &x = args.output;
  const Pool pool = pool_of(args, x, y, x);
  return [pool, y = y.as<float>(), x = x.as<float>(), loop = vectorized<SpreadLoop>()] {
    const std::int64_t from = pool.y_pixels() * pool.channels;
    const std::int64_t to = pool.x_pixels() * pool.channels;
    for_each_task(pool.images, pool.images * std::max(from, to),
                  [&](std::int64_t image) { loop(pool, y + image * from, x + image * to); });
  };
}

Launch max_pool_input(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &dy = args.inputs[1], &dx = args.output;
  const Pool pool = pool_of(args, x, dy, dx);
  return [pool, x = x.as<float>(), dy = dy.as<float>(), dx = dx.as<float>(),
          loop = vectorized<SpreadToFirstLoop>()] {
    const std::int64_t x_size = pool.x_pixels() * pool.channels;
    const std::int64_t y_size = pool.y_pixels() * pool.channels;
    const std::int64_t part_size = pool.part_pixels() * pool.channels;
    for_each_task(pool.images, pool.images * std::max(x_size, y_size), [&](std::int64_t image) {
      loop(pool, x + image * x_size, dy + image * y_size, dx + image * part_size);
    });
  };
}

}  // namespace meshwork::cpu

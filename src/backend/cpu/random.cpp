// random_uniform:   y = low + (high - low) u, u uniform in [0, 1)
// random_normal:    y = mean + stddev z, z standard normal
// truncated_normal: as random_normal, |z| < 2
// The numbers are those of base/rng.h at the global, row-major index of each element.
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/uniform.h"
#include "backend/views.h"
#include "base/check.h"
#include "base/parallel.h"
#include "base/rng.h"

namespace meshwork::cpu {
namespace {

template <float (*At)(std::uint64_t, std::uint64_t, std::uint64_t)>
void draw_each(const DrawStream& stream, std::uint64_t index, float* y, std::int64_t count) {
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

using Draw = void (*)(const DrawStream&, std::uint64_t, float*, std::int64_t);

Launch random(const KernelArgs& args, double shift, double scale, Draw draw) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32);
  const Runs runs = runs_of(args.output.type.shape, args.output.region);
  const std::int64_t count = num_elements(args.output.type.shape);
  if (count == 0) return [] {};
  const DrawStream fixed{static_cast<std::uint64_t>(args.attrs.integer("key")), 0,
                         static_cast<float>(shift), static_cast<float>(scale)};
  return [args, runs, count, fixed, draw] {
    DrawStream stream = fixed;
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

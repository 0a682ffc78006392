// y = the index of the greatest x along `axis`, counted over the whole tensor: the lowest among
// equals, the first NaN if there is one
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/types.h"
#include "backend/views.h"
#include "base/parallel.h"
#include "base/rounded_up.h"
#include "elementwise/comparison.h"

namespace meshwork::cpu {
namespace {

/// Lines side by side, one in each lane of a vector.
constexpr std::int64_t kTogether = 16;

/// From so many elements on a line is walked by itself, if it is contiguous.
constexpr std::int64_t kLong = 64;

/// Lines of `extent` >= 1 elements, `stride` apart in a line; lines are `apart` apart.
template <class X>
struct Lines {
  const X* x;
  std::int64_t count, extent, stride, apart;
};

/// Up to kTogether lines. No jump depends on the values, which cannot be foretold.
template <class X>
struct ShortLines {
  [[gnu::always_inline]] static void run(Lines<X> lines, std::int32_t first, std::int32_t* y) {
    float greatest[kTogether];
    std::int32_t place[kTogether];
#pragma omp simd
    for (std::int64_t l = 0; l < lines.count; ++l) {
      greatest[l] = computed(lines.x[l * lines.apart]);
      place[l] = 0;
    }
    for (std::int32_t i = 1; i < lines.extent; ++i) {
      const X* x = lines.x + i * lines.stride;
#pragma omp simd
      for (std::int64_t l = 0; l < lines.count; ++l) {
        const float value = computed(x[l * lines.apart]);
        const bool is_greater = (greatest[l] == greatest[l]) & !(value <= greatest[l]);
        place[l] = is_greater ? i : place[l];
        greatest[l] = is_greater ? value : greatest[l];
      }
    }
    for (std::int64_t l = 0; l < lines.count; ++l) y[l] = first + place[l];
  }
};

template <class X>
struct LongLines {
  [[gnu::always_inline]] static void run(Lines<X> lines, std::int32_t first, std::int32_t* y) {
    for (std::int64_t l = 0; l < lines.count; ++l) {
      const X* x = lines.x + l * lines.apart;
      const float max = fold_lanes<elementwise::Maximum>(x, lines.extent);
      std::int32_t i = 0;
      while (max == max ? computed(x[i]) != max : computed(x[i]) == computed(x[i])) ++i;
      y[l] = first + i;
    }
  }
};

}  // namespace

Launch argmax(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const std::int64_t axis = args.attrs.integer("axis");
  const AxisView view = around_axis(x.type.shape, axis);
  const bool is_float = x.type.dtype == DType::kFloat32 || is_narrow_float(x.type.dtype);
  if (!is_float || num_elements(x.type.shape) == 0) return reference::argmax(args);
  const auto first = static_cast<std::int32_t>(x.region.offset[static_cast<std::size_t>(axis)]);
  const bool is_long = view.inner == 1 && view.extent >= kLong;
  // Without an inner dimension all lines stand side by side, an extent apart.
  const std::int64_t outer = view.inner == 1 ? 1 : view.outer;
  const std::int64_t width = view.inner == 1 ? view.outer : view.inner;
  const std::int64_t apart = view.inner == 1 ? view.extent : 1;
  const std::int64_t groups = ceil_divide(width, kTogether);
  return with_float(x.type.dtype, [&](auto number) -> Launch {
    using X = decltype(number);
    return [=, x = x.as<X>(), y = y.as<std::int32_t>(),
            run = is_long ? vectorized<LongLines<X>>() : vectorized<ShortLines<X>>()] {
      for_each_task(outer * groups, outer * width * view.extent, [&](std::int64_t task) {
        const std::int64_t o = task / groups, begin = task % groups * kTogether;
        run({x + o * view.extent * width + begin * apart, std::min(kTogether, width - begin),
             view.extent, view.inner, apart},
            first, y + o * width + begin);
      });
    };
  });
}

}  // namespace meshwork::cpu

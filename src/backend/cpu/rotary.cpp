// rotary: threads take lines along the axis
#include <cstdint>

#include "backend/convert.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/types.h"
#include "backend/views.h"
#include "base/parallel.h"
#include "base/shape.h"

namespace meshwork::cpu {
namespace {

/// A line of x and y: its halves, `apart` elements from each other, and the angles beside one.
template <class X>
struct TurnLineLoop {
  [[gnu::always_inline]] static void turn(const X* x, float cos, float sin, X* y,
                                          std::int64_t apart) {
    const float x1 = computed(x[0]), x2 = computed(x[apart]);
    y[0] = X(x1 * cos - x2 * sin);
    y[apart] = X(x2 * cos + x1 * sin);
  }

  [[gnu::always_inline]] static void run(const X* x, const float* cos, const float* sin, float sign,
                                         X* y, std::int64_t count, std::int64_t apart,
                                         std::int64_t stride, std::int64_t angle_stride) {
    if (stride == 1 && angle_stride == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) turn(x + i, cos[i], sign * sin[i], y + i, apart);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = i * stride, angle = i * angle_stride;
      turn(x + at, cos[angle], sign * sin[angle], y + at, apart);
    }
  }
};

/// Where the lines lie: the dimensions besides the axis, with strides in elements.
struct Lines {
  Shape extents, strides, angle_strides;

  Lines(const Shape& shape, const Shape& turned, std::size_t axis)
      : extents(shape), strides(row_major_strides(shape)), angle_strides(turned) {
    for (Shape* each : {&extents, &strides, &angle_strides}) {
      each->erase(each->begin() + static_cast<std::ptrdiff_t>(axis));
    }
  }
};

template <class X>
Launch bind(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const Shape& shape = args.output.type.shape;
  Shape half = shape;
  half[axis] /= 2;
  const Shape turned = broadcast_strides(args.inputs[1].type.shape, half);
  const std::int64_t stride = row_major_strides(shape)[axis];
  return [lines = Lines(shape, turned, axis), run = vectorized<TurnLineLoop<X>>(),
          x = args.inputs[0].as<X>(), cos = args.inputs[1].as<float>(),
          sin = args.inputs[2].as<float>(), y = args.output.as<X>(),
          sign = args.attrs.flag("inverse") ? -1.0F : 1.0F, count = half[axis],
          elements = num_elements(shape), stride, angle_stride = turned[axis]] {
    for_each_share(
        num_elements(lines.extents), elements, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t line = begin; line < end; ++line) {
            std::int64_t at = 0, angle = 0, rest = line;
            for (std::size_t d = lines.extents.size(); d-- > 0; rest /= lines.extents[d]) {
              const std::int64_t place = rest % lines.extents[d];
              at += place * lines.strides[d];
              angle += place * lines.angle_strides[d];
            }
            run(x + at, cos + angle, sin + angle, sign, y + at, count, count * stride, stride,
                angle_stride);
          }
        });
  };
}

}  // namespace

Launch rotary(const KernelArgs& args) {
  return with_float(args.output.type.dtype, [&](auto x) { return bind<decltype(x)>(args); });
}

}  // namespace meshwork::cpu

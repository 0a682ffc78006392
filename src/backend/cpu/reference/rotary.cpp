// y = [x1 cos - x2 sin, x2 cos + x1 sin] of the two halves of x along `axis`; sin counts the other
// way with `inverse`
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/views.h"

namespace meshwork::reference {

Launch rotary(const KernelArgs& args) {
  return [args] {
    const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
    const float sign = args.attrs.flag("inverse") ? -1.0F : 1.0F;
    Shape half = args.output.type.shape;
    half[axis] /= 2;
    const Shape strides = row_major_strides(args.output.type.shape);
    const Shape turned = broadcast_strides(args.inputs[1].type.shape, half);
    const std::int64_t apart = half[axis] * strides[axis];
    const auto *const x = args.inputs[0].as<float>(), *const cos = args.inputs[1].as<float>(),
                      *const sin = args.inputs[2].as<float>();
    auto* const y = args.output.as<float>();
    for_each_index(half, [&](const Shape& index) {
      const std::int64_t at = offset_of(index, strides), angle = offset_of(index, turned);
      const float x1 = x[at], x2 = x[at + apart], c = cos[angle], s = sign * sin[angle];
      y[at] = x1 * c - x2 * s;
      y[at + apart] = x2 * c + x1 * s;
    });
  };
}

}  // namespace meshwork::reference

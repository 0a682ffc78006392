// y = [x1 cos - x2 sin, x2 cos + x1 sin] of the two halves of x along `axis`; sin counts the other
// way with `inverse`
#include "backend/cuda/attention/kernels.h"
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/walk.h"
#include "base/shape.h"

namespace meshwork::cuda::attention {
namespace {

// A thread takes a pair of elements, `apart` from each other.
constexpr char kText[] = R"cuda(
KERNEL(rotary, T* y, const T* x, const float* cosine, const float* sine, Walk pairs, int64 apart,
       int64 count) {
  FOR_EACH(i, count) {
    const Places at = places_of(pairs, (Index)i);
    const float x1 = to_float(x[at.x]), x2 = to_float(x[at.x + apart]);
    const float c = cosine[at.w], s = INVERSE ? -sine[at.w] : sine[at.w];
    y[at.y] = from_float<T>(x1 * c - x2 * s);
    y[at.y + apart] = from_float<T>(x2 * c + x1 * s);
  }
}
)cuda";

}  // namespace

Launch rotary(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  Shape half = args.output.type.shape;
  half[axis] /= 2;
  const Shape strides = row_major_strides(args.output.type.shape);
  const Shape& turned = args.inputs[1].type.shape;
  const Shape of_turned = row_major_strides(turned);
  Walk pairs;
  for (std::size_t d = 0; d < half.size(); ++d) {
    pairs.add(half[d], strides[d], turned[d] == 1 ? 0 : of_turned[d], strides[d]);
  }
  const std::int64_t count = num_elements(half);
  const Source source{"rotary", std::string(kWalk) + kText,
                      define("T", args.output.type.dtype) + define_index(count) +
                          define("INVERSE", args.attrs.flag("inverse"))};
  return launch_over(args, source, count, args.output.data, args.inputs[0].data,
                     args.inputs[1].data, args.inputs[2].data, pairs, half[axis] * strides[axis],
                     count);
}

}  // namespace meshwork::cuda::attention

// y = the index of the greatest x along `axis`, counted over the whole tensor: the lowest among
// equals, the first NaN if there is one
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"
#include "backend/views.h"

namespace meshwork::reference {
namespace {

template <class T>
std::int64_t place_of_max(const T* x, std::int64_t extent, std::int64_t stride) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < extent; ++i) {
    const T value = x[i * stride];
    const T greatest = x[best * stride];
    if (greatest == greatest && !(value <= greatest)) best = i;
  }
  return best;
}

}  // namespace

Launch argmax(const KernelArgs& args) {
  const std::int64_t axis = args.attrs.integer("axis");
  const AxisView view = around_axis(args.inputs[0].type.shape, axis);
  const std::int64_t first = args.inputs[0].region.offset[static_cast<std::size_t>(axis)];
  return [x = args.inputs[0], y = args.output, view, first] {
    with_type(x.type.dtype, [&](auto number) {
      using T = decltype(number);
      for (std::int64_t o = 0; o < view.outer; ++o) {
        for (std::int64_t i = 0; i < view.inner; ++i) {
          const T* begin = x.as<T>() + o * view.extent * view.inner + i;
          const std::int64_t place = first + place_of_max(begin, view.extent, view.inner);
          y.as<std::int32_t>()[o * view.inner + i] = static_cast<std::int32_t>(place);
        }
      }
    });
  };
}

}  // namespace meshwork::reference

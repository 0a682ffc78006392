// y[.., i, ..] = i along dimension `dim`, counted over the whole tensor
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"
#include "backend/views.h"

namespace meshwork::reference {

Launch iota(const KernelArgs& args) {
  const std::int64_t dim = args.attrs.integer("dim");
  const AxisView view = around_axis(args.output.type.shape, dim);
  const std::int64_t first = args.output.region.offset[static_cast<std::size_t>(dim)];
  return [y = args.output, view, first] {
    with_type(y.type.dtype, [&](auto number) {
      using T = decltype(number);
      const std::int64_t count = view.outer * view.extent * view.inner;
      for (std::int64_t i = 0; i < count; ++i) {
        y.as<T>()[i] = static_cast<T>(first + i / view.inner % view.extent);
      }
    });
  };
}

}  // namespace meshwork::reference

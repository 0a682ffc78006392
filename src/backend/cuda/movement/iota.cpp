// y[.., i, ..] = i along dimension `dim`, counted over the whole tensor
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/convert.h"
#include "backend/cuda/movement/kernels.h"
#include "backend/views.h"

namespace meshwork::cuda {
namespace {

constexpr char kText[] = R"cuda(
KERNEL(iota, T* y, int64 first, Divisor inner, Divisor extent, int64 count) {
  FOR_EACH(i, count) {
    Index rest = (Index)i;
    take_last(rest, inner);
    y[i] = Convert<T>::of(first + (int64)take_last(rest, extent));
  }
}
)cuda";

}  // namespace

Launch iota(const KernelArgs& args) {
  const TensorView& y = args.output;
  const std::int64_t dim = args.attrs.integer("dim");
  const AxisView view = around_axis(y.type.shape, dim);
  const std::int64_t count = num_elements(y.type.shape);
  const Source source{"iota", std::string(kIndexText) + std::string(kConvertText) + kText,
                      define_index(count) + define("T", y.type.dtype)};
  return launch_over(args, source, count, y.data, y.region.offset[static_cast<std::size_t>(dim)],
                     divisor_of(view.inner), divisor_of(view.extent), count);
}

}  // namespace meshwork::cuda

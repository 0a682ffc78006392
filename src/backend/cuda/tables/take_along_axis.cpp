// y[..] = x[.., index[..]], with indices counted over the whole tensor; 0 where that is not here
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

constexpr char kText[] = R"cuda(
KERNEL(take_along_axis, T* y, const T* x, const int32* index, int64 first, int64 depth,
       int64 count) {
  FOR_EACH(i, count) {
    const int64 place = index[i] - first;
    y[i] = place >= 0 && place < depth ? x[i * depth + place] : T();
  }
}
)cuda";

}  // namespace

Launch take_along_axis(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &index = args.inputs[1], &y = args.output;
  MW_CHECK(index.type.dtype == DType::kInt32);
  const std::int64_t count = num_elements(y.type.shape);
  const Source source{"take_along_axis", kText,
                      define_word("T", static_cast<std::int64_t>(size_of(y.type.dtype)))};
  return launch_over(args, source, count, y.data, x.data, index.data, x.region.offset.back(),
                     x.type.shape.back(), count);
}

}  // namespace meshwork::cuda

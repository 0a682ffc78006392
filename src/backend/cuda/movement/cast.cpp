// y = x as another dtype
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/convert.h"
#include "backend/cuda/movement/kernels.h"

namespace meshwork::cuda {
namespace {

// Of groups of N, and of the few elements behind the last.
constexpr char kText[] = R"cuda(
KERNEL(cast, TO* y, const FROM* x, int64 groups, int64 count) {
  FOR_EACH(i, groups) {
    const Group<FROM> from = ((const Group<FROM>*)x)[i];
    Group<TO> to;
#pragma unroll
    for (int n = 0; n < N; ++n) to.v[n] = Convert<TO>::of(from.v[n]);
    ((Group<TO>*)y)[i] = to;
  }
  const int64 i = groups * N + threadIdx.x;
  if (blockIdx.x == 0 && i < count) y[i] = Convert<TO>::of(x[i]);
}
)cuda";

}  // namespace

Launch cast(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const auto in_words = [](const TensorView& view) {
    const auto size = static_cast<std::int64_t>(size_of(view.type.dtype));
    return word_bytes({address_of(view.data), 4 * size}) == word_bytes({4 * size});
  };
  const std::int64_t n = in_words(x) && in_words(y) ? 4 : 1;
  const std::int64_t count = num_elements(y.type.shape), groups = count / n;
  const Source source{"cast", std::string(kGroupText) + std::string(kConvertText) + kText,
                      define("FROM", x.type.dtype) + define("TO", y.type.dtype) + define("N", n)};
  return launch_over(args, source, groups + (count > groups * n ? 1 : 0), y.data, x.data, groups,
                     count);
}

}  // namespace meshwork::cuda

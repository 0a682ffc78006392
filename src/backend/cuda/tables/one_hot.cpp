// y[.., c] = 1 where c, counted over the whole tensor, is the index x[..], else 0
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/tables/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

// Lines of `width` groups.
constexpr char kText[] = R"cuda(
KERNEL(one_hot, Group<float>* y, const int32* x, int64 first, Divisor width, int64 count) {
  FOR_EACH(i, count) {
    Index line = (Index)i;
    const int64 begin = (int64)take_last(line, width) * N;
    const int64 place = x[line] - first - begin;
    Group<float> group;
#pragma unroll
    for (int n = 0; n < N; ++n) group.v[n] = n == place ? 1.0f : 0.0f;
    y[i] = group;
  }
}
)cuda";

}  // namespace

Launch one_hot(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  MW_CHECK(x.type.dtype == DType::kInt32 && y.type.dtype == DType::kFloat32);
  constexpr std::int64_t kSize = sizeof(float);
  const std::int64_t depth = y.type.shape.back();
  const std::int64_t n = word_bytes({address_of(y.data), depth * kSize}) / kSize;
  const std::int64_t count = num_elements(y.type.shape) / n;
  const Source source{"one_hot", std::string(kIndexText) + std::string(kGroupText) + kText,
                      define_index(count) + define("N", n)};
  return launch_over(args, source, count, y.data, x.data, y.region.offset.back(),
                     divisor_of(depth / n), count);
}

}  // namespace meshwork::cuda

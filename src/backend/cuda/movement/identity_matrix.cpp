// y[i, j] = gain where i = j over the whole tensor, else 0
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/kernels.h"
#include "base/check.h"

namespace meshwork::cuda {
namespace {

// The diagonal crosses row i at column i + shift.
constexpr char kText[] = R"cuda(
KERNEL(identity_matrix, float* y, float gain, int64 shift, Divisor columns, int64 count) {
  FOR_EACH(i, count) {
    Index row = (Index)i;
    const Index column = take_last(row, columns);
    y[i] = (int64)column == (int64)row + shift ? gain : 0.0f;
  }
}
)cuda";

}  // namespace

Launch identity_matrix(const KernelArgs& args) {
  const TensorView& y = args.output;
  MW_CHECK(y.type.dtype == DType::kFloat32 && y.type.shape.size() == 2);
  const std::int64_t count = num_elements(y.type.shape);
  const Source source{"identity_matrix", std::string(kIndexText) + kText, define_index(count)};
  return launch_over(args, source, count, y.data, static_cast<float>(args.attrs.real("gain")),
                     y.region.offset[0] - y.region.offset[1], divisor_of(y.type.shape[1]), count);
}

}  // namespace meshwork::cuda

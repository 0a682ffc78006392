// y[i..] = x[i - low..] where x has it, else 0
#include <algorithm>

#include "backend/cpu/kernels.h"
#include "backend/cpu/strided_copy.h"
#include "base/parallel.h"

namespace meshwork::cpu {

Launch pad(const KernelArgs& args) {
  const TensorView &x = args.inputs[0], &y = args.output;
  const Shape from = row_major_strides(x.type.shape), to = row_major_strides(y.type.shape);
  std::vector<CopyDim> dims;
  std::int64_t x_begin = 0, y_begin = 0, copied = 1;
  for (std::size_t d = 0; d < from.size(); ++d) {
    // Element i of y is i - low of x.
    const std::int64_t low =
        args.attrs.integers("low")[d] + x.region.offset[d] - y.region.offset[d];
    const std::int64_t begin = std::max<std::int64_t>(0, low);
    const std::int64_t end = std::min(y.type.shape[d], low + x.type.shape[d]);
    dims.push_back({std::max<std::int64_t>(0, end - begin), from[d], to[d]});
    x_begin += (begin - low) * from[d];
    y_begin += begin * to[d];
    copied *= dims.back().extent;
  }
  const auto size = static_cast<std::int64_t>(size_of(y.type.dtype));
  const bool zeros = copied < num_elements(y.type.shape);
  return [copy = StridedCopy(dims, y.type.dtype), zeros, y = y.data, bytes = num_bytes(y.type),
          copied, from = x.data + x_begin * size, to = y.data + y_begin * size] {
    if (zeros) set_zero(y, bytes);
    if (copied > 0) copy.run(from, to);
  };
}

}  // namespace meshwork::cpu

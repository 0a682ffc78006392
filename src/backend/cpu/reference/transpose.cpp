// y = x with dimension d of y being dimension perm[d] of x
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"

namespace meshwork::reference {

Launch transpose(const KernelArgs& args) {
  const Shape dense = row_major_strides(args.inputs[0].type.shape);
  Shape strides;
  for (const std::int64_t dim : args.attrs.integers("perm")) {
    strides.push_back(dense[static_cast<std::size_t>(dim)]);
  }
  return gather(args.inputs[0], strides, args.output);
}

}  // namespace meshwork::reference

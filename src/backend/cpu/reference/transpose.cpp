// y = x with dimension d of y being dimension perm[d] of x
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/types.h"

namespace meshwork::reference {

Launch transpose(const KernelArgs& args) {
  const Shape dense = row_major_strides(args.inputs[0].type.shape);
  Shape strides;
  for (const std::int64_t dim : args.attrs.integers("perm")) {
    strides.push_back(dense[static_cast<std::size_t>(dim)]);
  }
  return [x = args.inputs[0], y = args.output, strides] {
    cpu::with_type(y.type.dtype, [&](auto value) {
      using T = decltype(value);
      std::int64_t i = 0;
      for_each_index(y.type.shape, [&](const Shape& index) {
        y.as<T>()[i++] = x.as<T>()[offset_of(index, strides)];
      });
    });
  };
}

}  // namespace meshwork::reference

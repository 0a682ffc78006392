// y = x, but y[.., start + i, ..] += part[.., i, ..] along `dim`
#include <algorithm>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"

namespace meshwork::reference {

Launch add_part(const KernelArgs& args) {
  return [args] {
    const TensorView &x = args.inputs[0], &part = args.inputs[1], &y = args.output;
    if (x.data != y.data) std::copy_n(x.as<float>(), num_elements(x.type.shape), y.as<float>());
    const Shape strides = row_major_strides(y.type.shape);
    const std::int64_t start =
        args.attrs.integer("start") * strides[static_cast<std::size_t>(args.attrs.integer("dim"))];
    const float* from = part.as<float>();
    for_each_index(part.type.shape, [&](const Shape& index) {
      y.as<float>()[start + offset_of(index, strides)] += *from++;
    });
  };
}

}  // namespace meshwork::reference

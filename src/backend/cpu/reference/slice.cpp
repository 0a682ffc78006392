// y[.., i, ..] = x[.., start + i, ..] along `axis`
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch slice(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  const std::int64_t start = args.attrs.integer("start");
  return [x = args.inputs[0], y = args.output, axis, start] {
    with_type(y.type.dtype, [&](auto value) {
      using T = decltype(value);
      const Shape strides = row_major_strides(x.type.shape);
      const T* begin = x.as<T>() + start * strides[axis];
      std::int64_t i = 0;
      for_each_index(y.type.shape, [&](const Shape& index) {
        y.as<T>()[i++] = begin[offset_of(index, strides)];
      });
    });
  };
}

}  // namespace meshwork::reference

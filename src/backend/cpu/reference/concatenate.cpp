// y = the operands one after the other along `axis`
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch concatenate(const KernelArgs& args) {
  const auto axis = static_cast<std::size_t>(args.attrs.integer("axis"));
  return [args, axis] {
    with_type(args.output.type.dtype, [&](auto value) {
      using T = decltype(value);
      const Shape strides = row_major_strides(args.output.type.shape);
      std::int64_t start = 0;
      for (const TensorView& x : args.inputs) {
        T* y = args.output.as<T>() + start * strides[axis];
        std::int64_t i = 0;
        for_each_index(x.type.shape,
                       [&](const Shape& index) { y[offset_of(index, strides)] = x.as<T>()[i++]; });
        start += x.type.shape[axis];
      }
    });
  };
}

}  // namespace meshwork::reference

// y[index] = x[index], where x repeats along its dimensions of one
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/types.h"
#include "backend/cpu/views.h"

namespace meshwork::reference {

Launch broadcast_to(const KernelArgs& args) {
  const Shape strides = cpu::broadcast_strides(args.inputs[0].type.shape, args.output.type.shape);
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

// y = a where the condition is not 0, else b
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/types.h"
#include "backend/cpu/views.h"

namespace meshwork::reference {
namespace {

template <class C, class T>
void choose(const KernelArgs& args) {
  const Shape& shape = args.output.type.shape;
  const Shape c_strides = cpu::broadcast_strides(args.inputs[0].type.shape, shape);
  const Shape a_strides = cpu::broadcast_strides(args.inputs[1].type.shape, shape);
  const Shape b_strides = cpu::broadcast_strides(args.inputs[2].type.shape, shape);
  std::int64_t i = 0;
  for_each_index(shape, [&](const Shape& index) {
    const bool condition = args.inputs[0].as<C>()[offset_of(index, c_strides)] != C{};
    const T a = args.inputs[1].as<T>()[offset_of(index, a_strides)];
    const T b = args.inputs[2].as<T>()[offset_of(index, b_strides)];
    args.output.as<T>()[i++] = condition ? a : b;
  });
}

}  // namespace

Launch select(const KernelArgs& args) {
  return [args] {
    cpu::with_type(args.inputs[0].type.dtype, [&](auto condition) {
      cpu::with_type(args.output.type.dtype,
                     [&](auto value) { choose<decltype(condition), decltype(value)>(args); });
    });
  };
}

}  // namespace meshwork::reference

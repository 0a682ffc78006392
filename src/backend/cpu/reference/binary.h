#pragma once

#include "backend/backend.h"
#include "backend/cpu/arithmetic.h"
#include "backend/cpu/reference/index.h"
#include "backend/cpu/types.h"
#include "backend/cpu/views.h"

namespace meshwork::reference {

/// y[index] = Op(a[index], b[index]) with numpy broadcasting; T is the type of a and b.
template <class Op, class T>
void broadcast_binary(const TensorView& a, const TensorView& b, const TensorView& y) {
  using Result = decltype(Op::apply(T{}, T{}));
  const Shape a_strides = cpu::broadcast_strides(a.type.shape, y.type.shape);
  const Shape b_strides = cpu::broadcast_strides(b.type.shape, y.type.shape);
  std::int64_t i = 0;
  for_each_index(y.type.shape, [&](const Shape& index) {
    y.as<Result>()[i++] =
        Op::apply(a.as<T>()[offset_of(index, a_strides)], b.as<T>()[offset_of(index, b_strides)]);
  });
}

/// For float32, int32 and int64.
template <class Op>
Launch binary(const KernelArgs& args) {
  return [a = args.inputs[0], b = args.inputs[1], y = args.output] {
    cpu::with_number(a.type.dtype,
                     [&](auto number) { broadcast_binary<Op, decltype(number)>(a, b, y); });
  };
}

/// For float32.
template <class Op>
Launch binary_float(const KernelArgs& args) {
  MW_CHECK(args.inputs[0].type.dtype == DType::kFloat32);
  return [a = args.inputs[0], b = args.inputs[1], y = args.output] {
    broadcast_binary<Op, float>(a, b, y);
  };
}

}  // namespace meshwork::reference

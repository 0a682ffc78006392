// y = a where the condition is not 0, else b
#include <type_traits>

#include "backend/cpu/arithmetic.h"
#include "backend/cpu/convert.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/nest.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/types.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// One block of the nest; y may be an operand that is not broadcast.
template <class Condition, class T>
struct SelectLoop {
  [[gnu::always_inline]] static void run(const Condition* condition, const T* a, const T* b, T* y,
                                         const Nest::Block& block) {
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const Condition* c_row = condition + block.offset[0] + row * block.stride[0];
      const T* a_row = a + block.offset[1] + row * block.stride[1];
      const T* b_row = b + block.offset[2] + row * block.stride[2];
      T* y_row = y + block.result_offset + row * block.result_stride;
      const auto& repeats = block.repeats;
      if (repeats[0]) {
        by_values<true>(c_row, a_row, b_row, y_row, block.columns, repeats[1], repeats[2]);
      } else {
        by_values<false>(c_row, a_row, b_row, y_row, block.columns, repeats[1], repeats[2]);
      }
    }
  }

 private:
  template <bool C>
  [[gnu::always_inline]] static void by_values(const Condition* c, const T* a, const T* b, T* y,
                                               std::int64_t columns, bool a_repeats,
                                               bool b_repeats) {
    if (a_repeats && b_repeats) return row<C, true, true>(c, a, b, y, columns);
    if (a_repeats) return row<C, true, false>(c, a, b, y, columns);
    if (b_repeats) return row<C, false, true>(c, a, b, y, columns);
    return row<C, false, false>(c, a, b, y, columns);
  }

  /// C, A, B: whether the operand is one value that repeats.
  template <bool C, bool A, bool B>
  [[gnu::always_inline]] static void row(const Condition* c, const T* a, const T* b, T* y,
                                         std::int64_t columns) {
    const float c_value = computed(*c);
    const T a_value = *a, b_value = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < columns; ++i) {
      y[i] = Select::apply(C ? c_value : computed(c[i]), A ? a_value : a[i], B ? b_value : b[i]);
    }
  }
};

template <class Condition>
Launch launch(const KernelArgs& args) {
  return with_type(args.output.type.dtype, [&](auto value) -> Launch {
    // What is only moved is moved as bits.
    using Value = decltype(value);
    using T = std::conditional_t<std::is_same_v<Value, BFloat16>, std::uint16_t, Value>;
    const Nest nest(args.output.type.shape, {args.inputs[0].type.shape, args.inputs[1].type.shape,
                                             args.inputs[2].type.shape});
    return [nest, c = args.inputs[0].as<Condition>(), a = args.inputs[1].as<T>(),
            b = args.inputs[2].as<T>(), y = args.output.as<T>(),
            run = vectorized<SelectLoop<Condition, T>>()] {
      for_each_task(nest.tasks(), nest.elements(),
                    [&](std::int64_t task) { run(c, a, b, y, nest.block(task)); });
    };
  });
}

}  // namespace

Launch select(const KernelArgs& args) {
  const DType condition = args.inputs[0].type.dtype;
  if (condition == DType::kFloat32) return launch<float>(args);
  if (condition == DType::kBFloat16) return launch<BFloat16>(args);
  return reference::select(args);
}

}  // namespace meshwork::cpu

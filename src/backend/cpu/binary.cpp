// y = f(a, b), element by element with numpy broadcasting
#include "backend/cpu/arithmetic.h"
#include "backend/cpu/convert.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/nest.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/types.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// One block of the nest; y may be a or b where that is not broadcast. Where both repeat there is
/// but one column.
template <class Op, class T, class Result>
struct BinaryLoop {
  [[gnu::always_inline]] static void run(const T* a, const T* b, Result* y,
                                         const Nest::Block& block) {
    for (std::int64_t row = 0; row < block.rows; ++row) {
      const T* a_row = a + block.offset[0] + row * block.stride[0];
      const T* b_row = b + block.offset[1] + row * block.stride[1];
      Result* y_row = y + block.result_offset + row * block.result_stride;
      if (block.repeats[1]) {
        const Computed<T> value = computed(*b_row);
#pragma omp simd
        for (std::int64_t i = 0; i < block.columns; ++i) {
          store(y_row[i], Op::apply(computed(a_row[i]), value));
        }
      } else if (block.repeats[0]) {
        const Computed<T> value = computed(*a_row);
#pragma omp simd
        for (std::int64_t i = 0; i < block.columns; ++i) {
          store(y_row[i], Op::apply(value, computed(b_row[i])));
        }
      } else {
#pragma omp simd
        for (std::int64_t i = 0; i < block.columns; ++i) {
          store(y_row[i], Op::apply(computed(a_row[i]), computed(b_row[i])));
        }
      }
    }
  }
};

template <class Op, class T>
Launch launch(const KernelArgs& args) {
  using Wide = decltype(Op::apply(Computed<T>{}, Computed<T>{}));
  using Result = std::conditional_t<std::is_same_v<T, BFloat16>, BFloat16, Wide>;
  const TensorView &a = args.inputs[0], &b = args.inputs[1];
  const Nest nest(args.output.type.shape, {a.type.shape, b.type.shape});
  return [nest, a = a.as<T>(), b = b.as<T>(), y = args.output.as<Result>(),
          run = vectorized<BinaryLoop<Op, T, Result>>()] {
    for_each_task(nest.tasks(), nest.elements(),
                  [&](std::int64_t task) { run(a, b, y, nest.block(task)); });
  };
}

template <class Op>
Launch number(const KernelArgs& args) {
  if (args.inputs[0].type.dtype == DType::kBFloat16) return launch<Op, BFloat16>(args);
  return with_number(args.inputs[0].type.dtype,
                     [&](auto type) { return launch<Op, decltype(type)>(args); });
}

template <class Op>
Launch real(const KernelArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  if (dtype == DType::kBFloat16) return launch<Op, BFloat16>(args);
  MW_CHECK(dtype == DType::kFloat32);
  return launch<Op, float>(args);
}

}  // namespace

Launch add(const KernelArgs& args) { return number<Add>(args); }
Launch divide(const KernelArgs& args) { return real<Divide>(args); }
Launch equal(const KernelArgs& args) { return number<Equal>(args); }
Launch greater(const KernelArgs& args) { return number<Greater>(args); }
Launch greater_equal(const KernelArgs& args) { return number<GreaterEqual>(args); }
Launch maximum(const KernelArgs& args) { return number<Maximum>(args); }
Launch minimum(const KernelArgs& args) { return number<Minimum>(args); }
Launch multiply(const KernelArgs& args) { return number<Multiply>(args); }
Launch power(const KernelArgs& args) { return real<Power>(args); }
Launch subtract(const KernelArgs& args) { return number<Subtract>(args); }

}  // namespace meshwork::cpu

// y = f(x), element by element
#include "backend/cpu/arithmetic.h"
#include "backend/cpu/convert.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/types.h"
#include "backend/cpu/vector_math.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

/// y may be x.
template <class Op, class From, class To>
struct UnaryLoop {
  [[gnu::always_inline]] static void run(const From* x, To* y, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(y[i], Op::apply(computed(x[i])));
  }
};

template <class Loop, class From, class To>
Launch run_loop(const KernelArgs& args) {
  const auto* x = args.inputs[0].as<From>();
  auto* y = args.output.as<To>();
  const std::int64_t count = num_elements(args.output.type.shape);
  return [x, y, count, run = vectorized<Loop>()] {
    for_each_range(count, [&](std::int64_t begin, std::int64_t end) {
      run(x + begin, y + begin, end - begin);
    });
  };
}

template <class Op, class From, class To>
Launch launch(const KernelArgs& args) {
  return run_loop<UnaryLoop<Op, From, To>, From, To>(args);
}

template <class Op>
Launch real(const KernelArgs& args) {
  const DType dtype = args.inputs[0].type.dtype;
  if (dtype == DType::kBFloat16) return launch<Op, BFloat16, BFloat16>(args);
  MW_CHECK(dtype == DType::kFloat32);
  return launch<Op, float, float>(args);
}

template <class Op>
Launch number(const KernelArgs& args) {
  if (args.inputs[0].type.dtype == DType::kBFloat16) return launch<Op, BFloat16, BFloat16>(args);
  return with_number(args.inputs[0].type.dtype,
                     [&](auto type) { return launch<Op, decltype(type), decltype(type)>(args); });
}

/// y may be x where the sizes are the same.
template <class From, class To>
struct ConvertLoop {
  [[gnu::always_inline]] static void run(const From* x, To* y, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(y[i], x[i]);
  }
};

}  // namespace

Launch abs(const KernelArgs& args) { return number<Abs>(args); }
Launch erf(const KernelArgs& args) { return real<Erf>(args); }
Launch exp(const KernelArgs& args) { return real<Exp>(args); }
Launch floor(const KernelArgs& args) { return real<Floor>(args); }
Launch log(const KernelArgs& args) { return real<Log>(args); }
Launch log1p(const KernelArgs& args) { return real<Log1p>(args); }
Launch negate(const KernelArgs& args) { return number<Negate>(args); }
Launch relu(const KernelArgs& args) { return real<Relu>(args); }
Launch sigmoid(const KernelArgs& args) { return real<Sigmoid>(args); }
Launch sign(const KernelArgs& args) { return number<Sign>(args); }
Launch softplus(const KernelArgs& args) { return real<Softplus>(args); }
Launch sqrt(const KernelArgs& args) { return real<Sqrt>(args); }
Launch square(const KernelArgs& args) { return number<Square>(args); }
Launch tanh(const KernelArgs& args) { return real<Tanh>(args); }

Launch cast(const KernelArgs& args) {
  return with_type(args.inputs[0].type.dtype, [&](auto from) {
    return with_type(args.output.type.dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      return run_loop<ConvertLoop<From, To>, From, To>(args);
    });
  });
}

}  // namespace meshwork::cpu

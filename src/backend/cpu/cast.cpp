// y = x as another dtype
#include "backend/cpu/kernels.h"
#include "backend/cpu/simd.h"
#include "backend/cpu/store.h"
#include "backend/types.h"
#include "base/parallel.h"

namespace meshwork::cpu {
namespace {

template <class From, class To>
Launch launch(const KernelArgs& args) {
  const auto* x = args.inputs[0].as<From>();
  auto* y = args.output.as<To>();
  const std::int64_t count = num_elements(args.output.type.shape);
  return [x, y, count, run = vectorized<ConvertLoop<From, To>>()] {
    for_each_range(count, [&](std::int64_t begin, std::int64_t end) {
      run(x + begin, y + begin, end - begin);
    });
  };
}

}  // namespace

Launch cast(const KernelArgs& args) {
  return with_type(args.inputs[0].type.dtype, [&](auto from) {
    return with_type(args.output.type.dtype,
                     [&](auto to) { return launch<decltype(from), decltype(to)>(args); });
  });
}

}  // namespace meshwork::cpu

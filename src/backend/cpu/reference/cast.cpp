// y = x as another dtype
#include "backend/convert.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch cast(const KernelArgs& args) {
  return [x = args.inputs[0], y = args.output] {
    with_type(x.type.dtype, [&](auto from) {
      with_type(y.type.dtype, [&](auto to) {
        using From = decltype(from);
        using To = decltype(to);
        const std::int64_t count = num_elements(y.type.shape);
        for (std::int64_t i = 0; i < count; ++i) {
          y.as<To>()[i] = convert<To>(x.as<From>()[i]);
        }
      });
    });
  };
}

}  // namespace meshwork::reference

// y = value everywhere
#include <algorithm>

#include "backend/cpu/convert.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/types.h"

namespace meshwork::reference {

Launch constant(const KernelArgs& args) {
  return [y = args.output, value = args.attrs.real("value")] {
    cpu::with_type(y.type.dtype, [&](auto number) {
      using T = decltype(number);
      std::fill_n(y.as<T>(), num_elements(y.type.shape), cpu::convert<T>(value));
    });
  };
}

}  // namespace meshwork::reference

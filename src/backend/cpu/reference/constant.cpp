// y = value everywhere
#include <algorithm>

#include "backend/convert.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch constant(const KernelArgs& args) {
  return [y = args.output, value = args.attrs.real("value")] {
    with_type(y.type.dtype, [&](auto number) {
      using T = decltype(number);
      std::fill_n(y.as<T>(), num_elements(y.type.shape), convert<T>(value));
    });
  };
}

}  // namespace meshwork::reference

// y = the elements of x in the same order
#include <cstring>

#include "backend/cpu/reference/kernels.h"

namespace meshwork::reference {

Launch reshape(const KernelArgs& args) {
  const auto bytes = static_cast<std::size_t>(num_bytes(args.output.type));
  return [x = args.inputs[0].data, y = args.output.data, bytes] {
    if (bytes > 0 && x != y) std::memcpy(y, x, bytes);
  };
}

}  // namespace meshwork::reference

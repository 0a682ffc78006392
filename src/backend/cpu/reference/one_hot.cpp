// y[.., c] = 1 where c, counted over the whole tensor, is the index x[..], else 0
#include <algorithm>

#include "backend/cpu/reference/kernels.h"
#include "base/check.h"

namespace meshwork::reference {

Launch one_hot(const KernelArgs& args) {
  MW_CHECK(args.inputs[0].type.dtype == DType::kInt32);
  const std::int64_t depth = args.output.type.shape.back();
  const std::int64_t first = args.output.region.offset.back();
  return [x = args.inputs[0], y = args.output, depth, first] {
    const std::int64_t count = num_elements(x.type.shape);
    std::fill_n(y.as<float>(), count * depth, 0.0F);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = x.as<std::int32_t>()[i] - first;
      if (place >= 0 && place < depth) y.as<float>()[i * depth + place] = 1.0F;
    }
  };
}

}  // namespace meshwork::reference

// y[..] = x[.., index[..]], with indices counted over the whole tensor; 0 where that is not here
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"
#include "base/check.h"

namespace meshwork::reference {

Launch take_along_axis(const KernelArgs& args) {
  MW_CHECK(args.inputs[1].type.dtype == DType::kInt32);
  const std::int64_t depth = args.inputs[0].type.shape.back();
  const std::int64_t first = args.inputs[0].region.offset.back();
  return [x = args.inputs[0], index = args.inputs[1], y = args.output, depth, first] {
    with_type(y.type.dtype, [&](auto value) {
      using T = decltype(value);
      const std::int64_t count = num_elements(y.type.shape);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place = index.as<std::int32_t>()[i] - first;
        const bool here = place >= 0 && place < depth;
        y.as<T>()[i] = here ? x.as<T>()[i * depth + place] : T{};
      }
    });
  };
}

}  // namespace meshwork::reference

// y[i..] = x[i - low..] where x has it, else 0
#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/types.h"

namespace meshwork::reference {

Launch pad(const KernelArgs& args) {
  return [x = args.inputs[0], y = args.output, low = args.attrs.integers("low")] {
    with_type(y.type.dtype, [&](auto value) {
      using T = decltype(value);
      const Shape& extents = x.type.shape;
      const Shape strides = row_major_strides(extents);
      T* result = y.as<T>();
      for_each_index(y.type.shape, [&](const Shape& index) {
        std::int64_t place = 0;
        bool there = true;
        for (std::size_t d = 0; d < index.size(); ++d) {
          const std::int64_t i = index[d] + y.region.offset[d] - low[d] - x.region.offset[d];
          there = there && i >= 0 && i < extents[d];
          place += i * strides[d];
        }
        *result++ = there ? x.as<T>()[place] : T{0};
      });
    });
  };
}

}  // namespace meshwork::reference

// embedding, embedding_gradient: rows are counted over the whole table
#include <algorithm>

#include "backend/cpu/reference/kernels.h"
#include "base/check.h"

namespace meshwork::reference {

Launch embedding(const KernelArgs& args) {
  MW_CHECK(args.inputs[1].type.dtype == DType::kInt32);
  const std::int64_t first = args.inputs[0].region.offset[0];
  return [table = args.inputs[0], index = args.inputs[1], y = args.output, first] {
    const std::int64_t rows = table.type.shape[0], width = table.type.shape[1];
    for (std::int64_t i = 0; i < num_elements(index.type.shape); ++i) {
      const std::int64_t row = index.as<std::int32_t>()[i] - first;
      for (std::int64_t d = 0; d < width; ++d) {
        const bool is_here = row >= 0 && row < rows;
        y.as<float>()[i * width + d] = is_here ? table.as<float>()[row * width + d] : 0.0F;
      }
    }
  };
}

Launch embedding_gradient(const KernelArgs& args) {
  MW_CHECK(args.inputs[1].type.dtype == DType::kInt32);
  const std::int64_t first = args.output.region.offset[0];
  return [dy = args.inputs[0], index = args.inputs[1], y = args.output, first] {
    const std::int64_t rows = y.type.shape[0], width = y.type.shape[1];
    std::fill_n(y.as<float>(), rows * width, 0.0F);
    for (std::int64_t i = 0; i < num_elements(index.type.shape); ++i) {
      const std::int64_t row = index.as<std::int32_t>()[i] - first;
      if (row < 0 || row >= rows) continue;
      for (std::int64_t d = 0; d < width; ++d) {
        y.as<float>()[row * width + d] += dy.as<float>()[i * width + d];
      }
    }
  };
}

}  // namespace meshwork::reference

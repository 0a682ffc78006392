// y[i, j] = gain where i = j over the whole tensor, else 0
#include "backend/cpu/reference/kernels.h"
#include "base/check.h"

namespace meshwork::reference {

Launch identity_matrix(const KernelArgs& args) {
  MW_CHECK(args.output.type.dtype == DType::kFloat32 && args.output.type.shape.size() == 2);
  const auto gain = static_cast<float>(args.attrs.real("gain"));
  return [y = args.output, gain] {
    const std::int64_t rows = y.type.shape[0], columns = y.type.shape[1];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j) {
        const bool diagonal = y.region.offset[0] + i == y.region.offset[1] + j;
        y.as<float>()[i * columns + j] = diagonal ? gain : 0.0F;
      }
    }
  };
}

}  // namespace meshwork::reference

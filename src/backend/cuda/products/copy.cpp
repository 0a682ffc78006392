#include "backend/cuda/products/copy.h"

#include "backend/cuda/kernel.h"
#include "backend/cuda/products/walk.h"

namespace meshwork::cuda::products {
namespace {

// Neighbouring threads write neighbouring elements.
constexpr char kText[] = R"cuda(
KERNEL(strided_copy, T* to, const T* from, Walk walk, int64 count) {
  FOR_EACH(i, count) {
    const Places places = places_of(walk, (Index)i);
    to[places.y] = from[places.x];
  }
}
)cuda";

}  // namespace

Launch copy_launch(CudaStream& stream, const std::vector<CopyDim>& dims, DType dtype,
                   const std::byte* from, std::byte* to) {
  Walk walk;
  for (const CopyDim& dim : simplified(dims)) walk.add(dim.extent, dim.from, 0, dim.to);
  const std::int64_t count = walk.size();
  const Source source{"strided_copy", std::string(kWalk) + kText,
                      define("T", dtype) + define_index(count)};
  return kernel_launch(stream, source, source.name, grid_of(count), to, from, walk, count);
}

}  // namespace meshwork::cuda::products

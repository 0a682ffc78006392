#include "model/count_along.h"

#include <utility>

#include "ops/ops.h"

namespace meshwork {

ValueId count_along(GraphBuilder& b, std::size_t rank, std::size_t dim, std::int64_t extent) {
  Shape shape(rank, 1);
  shape[dim] = extent;
  return b.add(
      ops::kIota, {},
      {{"dim", static_cast<std::int64_t>(dim)}, {"dtype", "float32"}, {"shape", std::move(shape)}});
}

}  // namespace meshwork

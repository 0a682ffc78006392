#include "model/layers/positions.h"

#include "model/arguments.h"
#include "ops/ops.h"

namespace meshwork::layers {

void check_steps(const config::Reader& args, const Shape& shape) {
  if (shape.size() >= 3) return;
  fail_at(args.at(), "{} needs samples [steps, features], not {}", args.what(),
          sample_shape(shape));
}

ValueId count_along(GraphBuilder& b, std::size_t rank, std::size_t dim, std::int64_t extent) {
  Shape shape(rank, 1);
  shape[dim] = extent;
  return b.add(
      ops::kIota, {},
      {{"dim", static_cast<std::int64_t>(dim)}, {"dtype", "float32"}, {"shape", std::move(shape)}});
}

}  // namespace meshwork::layers

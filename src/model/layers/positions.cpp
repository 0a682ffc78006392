#include "model/layers/positions.h"

#include "model/arguments.h"

namespace meshwork::layers {

void check_steps(const config::Reader& args, const Shape& shape) {
  if (shape.size() >= 3) return;
  fail_at(args.at(), "{} needs samples [steps, features], not {}", args.what(),
          sample_shape(shape));
}

}  // namespace meshwork::layers

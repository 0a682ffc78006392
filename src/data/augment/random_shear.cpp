// Shears an image about its corner at (0, 0): the new pixel (x, y) is the old one at (x + x_factor
// y, y_factor x + y). One sign is drawn for both factors.
#include "data/augment/affine.h"

namespace meshwork::data {
namespace {

Motion parse(config::Reader& args) {
  const Range x_factor = read_factor(args, "x_factor", -1, {});
  const Range y_factor = read_factor(args, "y_factor", -1, {});
  Sampling sampling;
  read_fill(args, FillMode::kReflect, sampling);
  sampling.interpolation = read_interpolation(args);
  return {sampling, [=](const ImageShape& shape, const Draws& draws, const Sampling& between,
                        const float* from, float* to) {
            const double sign = draws[0] > 0.5F ? -1 : 1;
            const Affine map{.a1 = sign * x_factor.at(draws[1]),
                             .b0 = sign * y_factor.at(draws[2])};
            transform(shape, map, between, from, to);
          }};
}

}  // namespace

const ImageOpDef kRandomShear{.names = {"RandomShear", "random_shear"}, .parse_motion = parse};

}  // namespace meshwork::data

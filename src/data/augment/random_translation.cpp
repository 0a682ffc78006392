// Moves an image by fractions of its height (down where positive) and width (to the right).
#include "data/augment/affine.h"

namespace meshwork::data {
namespace {

Motion parse(config::Reader& args) {
  const Range height = read_factor(args.require("height_factor"), "height_factor", -1);
  const Range width = read_factor(args.require("width_factor"), "width_factor", -1);
  Sampling sampling;
  read_fill(args, FillMode::kReflect, sampling);
  sampling.interpolation = read_interpolation(args);
  return {sampling, [height, width](const ImageShape& shape, const Draws& draws,
                                    const Sampling& between, const float* from, float* to) {
            const Affine map{.a2 = -width.at(draws[1]) * static_cast<double>(shape.width),
                             .b2 = -height.at(draws[0]) * static_cast<double>(shape.height)};
            transform(shape, map, between, from, to);
          }};
}

}  // namespace

const ImageOpDef kRandomTranslation{.names = {"RandomTranslation", "random_translation"},
                                    .parse_motion = parse};

}  // namespace meshwork::data

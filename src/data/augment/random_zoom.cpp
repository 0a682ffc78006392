// Zooms an image about its centre by 1 + factor: out where the factor is positive, in where it is
// negative. Without width_factor the image keeps its proportions.
#include <optional>

#include "data/augment/affine.h"

namespace meshwork::data {
namespace {

/// The offset that keeps the centre where it is.
double offset(std::int64_t size, double zoom) {
  return 0.5 * static_cast<double>(size - 1) * (1 - zoom);
}

Motion parse(config::Reader& args) {
  const Range height = read_factor(args.require("height_factor"), "height_factor", -1, true);
  std::optional<Range> width;
  if (const config::Value* factor = args.find("width_factor")) {
    width = read_factor(*factor, "width_factor", -1, true);
  }
  Sampling sampling;
  read_fill(args, FillMode::kReflect, sampling);
  sampling.interpolation = read_interpolation(args);
  return {sampling, [height, width](const ImageShape& shape, const Draws& draws,
                                    const Sampling& between, const float* from, float* to) {
            const double down = 1 + height.at(draws[0]);
            const double across = width ? 1 + width->at(draws[1]) : down;
            const Affine map{.a0 = across,
                             .a2 = offset(shape.width, across),
                             .b1 = down,
                             .b2 = offset(shape.height, down)};
            transform(shape, map, between, from, to);
          }};
}

}  // namespace

const ImageOpDef kRandomZoom{.names = {"RandomZoom", "random_zoom"}, .parse_motion = parse};

}  // namespace meshwork::data

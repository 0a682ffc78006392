// Rotates an image about its centre by factor * 2 pi, counter-clockwise where it is positive.
#include <cmath>
#include <numbers>

#include "data/augment/affine.h"

namespace meshwork::data {
namespace {

Affine rotation(const ImageShape& shape, double angle) {
  const double center_x = 0.5 * static_cast<double>(shape.width - 1);
  const double center_y = 0.5 * static_cast<double>(shape.height - 1);
  const double cos = std::cos(angle);
  const double sin = std::sin(angle);
  return {.a0 = cos,
          .a1 = -sin,
          .a2 = center_x - center_x * cos + center_y * sin,
          .b0 = sin,
          .b1 = cos,
          .b2 = center_y - center_x * sin - center_y * cos};
}

Motion parse(config::Reader& args) {
  const Range factor = read_factor(args.require("factor"), "factor", -1);
  Sampling sampling;
  read_fill(args, FillMode::kReflect, sampling);
  sampling.interpolation = read_interpolation(args);
  return {sampling, [factor](const ImageShape& shape, const Draws& draws, const Sampling& between,
                             const float* from, float* to) {
            const double angle = 2 * std::numbers::pi * factor.at(draws[0]);
            transform(shape, rotation(shape, angle), between, from, to);
          }};
}

}  // namespace

const ImageOpDef kRandomRotation{.names = {"RandomRotation", "random_rotation"},
                                 .parse_motion = parse};

}  // namespace meshwork::data

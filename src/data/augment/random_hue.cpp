// Turns all hues of an image by the same angle: a factor of 0 to 1 times half a turn, one way or
// the other.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const Range factor = read_factor(args.require("factor"), "factor", 0);
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const double half = draws[0] > 0.5F ? -0.5 : 0.5;
    const auto turn = static_cast<float>(half * factor.at(draws[1]));
    for (std::int64_t i = 0; i < shape.elements(); i += 3) {
      std::transform(from + i, from + i + 3, to + i,
                     [&](float x) { return (x - values.least) / values.span(); });
      Hsv hsv = to_hsv(to + i);
      hsv.hue += turn;
      to_rgb(hsv, to + i);
      std::transform(to + i, to + i + 3, to + i, [&](float x) {
        return std::clamp(x, 0.F, 1.F) * values.span() + values.least;
      });
    }
  };
}

}  // namespace

const ImageOpDef kRandomHue{.names = {"RandomHue", "random_hue"}, .channels = 3, .parse = parse};

}  // namespace meshwork::data

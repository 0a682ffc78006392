// Multiplies the saturation of all pixels by f / (1 - f): 0 makes an image grey, 0.5 leaves it as
// it is. Pixels are from 0 on; saturation ends at 1, of whatever value_range.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

/// Keras's backend epsilon.
constexpr double kEpsilon = 1e-7;

ImageFunction parse(config::Reader& args) {
  const Range factor = read_factor(args.require("factor"), "factor", 0);
  args.find("value_range");
  return [factor](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const double share = factor.at(draws[0]);
    const auto times = static_cast<float>(share / (1 - share + kEpsilon));
    for (std::int64_t i = 0; i < shape.elements(); i += 3) {
      Hsv hsv = to_hsv(from + i);
      hsv.saturation = std::clamp(hsv.saturation * times, 0.F, 1.F);
      to_rgb(hsv, to + i);
    }
  };
}

}  // namespace

const ImageOpDef kRandomSaturation{
    .names = {"RandomSaturation", "random_saturation"}, .channels = 3, .parse = parse};

}  // namespace meshwork::data

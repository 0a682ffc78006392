// Blends an image with its greys: a factor of 0 is the
// image as it is, 1 is grey. All stays within value_range. One factor f draws from 0 to f, as Keras
// says; Keras 3.15 draws from -f on.
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
    const auto part = static_cast<float>(factor.at(draws[0]));
    for (std::int64_t i = 0; i < shape.elements(); i += 3) {
      const float gray = gray_of(from + i);
      std::transform(from + i, from + i + 3, to + i, [&](float x) {
        return std::clamp(x + part * (gray - x), values.least, values.most);
      });
    }
  };
}

}  // namespace

const ImageOpDef kRandomColorDegeneration{
    .names = {"RandomColorDegeneration", "random_color_degeneration"},
    .channels = 3,
    .parse = parse};

}  // namespace meshwork::data

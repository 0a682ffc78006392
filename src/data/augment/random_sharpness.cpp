// Blends an image with one that is blurred by 3 x 3 weights of 1/13, 5/13 in the middle, and 0
// beyond the edge: a factor of 0 is that one, 0.5 the image as it is, 1 as far to the other side.
// All stays within value_range.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

float blurred(const ImageShape& shape, const float* from, std::int64_t row, std::int64_t column) {
  const std::int64_t pitch = shape.width * shape.channels;
  float around = 0;
  for (std::int64_t i = std::max(row - 1, std::int64_t{0});
       i <= std::min(row + 1, shape.height - 1); ++i) {
    for (std::int64_t j = column - shape.channels; j <= column + shape.channels;
         j += shape.channels) {
      if (j >= 0 && j < pitch) around += from[i * pitch + j];
    }
  }
  return (around + 4 * from[row * pitch + column]) / 13.F;
}

ImageFunction parse(config::Reader& args) {
  const Range factor = read_factor(args.require("factor"), "factor", 0);
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const auto blur = static_cast<float>(1 - 2 * factor.at(draws[0]));
    const std::int64_t pitch = shape.width * shape.channels;
    for (std::int64_t i = 0; i < shape.height; ++i) {
      for (std::int64_t j = 0; j < pitch; ++j) {
        const float x = from[i * pitch + j];
        const float blend = x + blur * (blurred(shape, from, i, j) - x);
        to[i * pitch + j] = std::clamp(blend, values.least, values.most);
      }
    }
  };
}

}  // namespace

const ImageOpDef kRandomSharpness{.names = {"RandomSharpness", "random_sharpness"}, .parse = parse};

}  // namespace meshwork::data

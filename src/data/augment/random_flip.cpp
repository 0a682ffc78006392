// Mirrors an image, or leaves it as it is, with equal chance. As in Keras 3 one coin is tossed per
// image: horizontal_and_vertical does both or none.
#include <algorithm>

#include "data/augment/augment.h"

namespace meshwork::data {
namespace {

void flip(const ImageShape& shape, bool horizontal, bool vertical, const float* from, float* to) {
  const std::int64_t row = shape.width * shape.channels;
  for (std::int64_t i = 0; i < shape.height; ++i, to += row) {
    const float* line = from + (vertical ? shape.height - 1 - i : i) * row;
    if (!horizontal) {
      std::copy_n(line, row, to);
      continue;
    }
    for (std::int64_t j = 0; j < shape.width; ++j) {
      std::copy_n(line + (shape.width - 1 - j) * shape.channels, shape.channels,
                  to + j * shape.channels);
    }
  }
}

Motion parse(config::Reader& args) {
  using Mode = std::pair<bool, bool>;
  const auto [horizontal, vertical] = args.choose("mode", Mode{true, true},
                                                  {{"horizontal", {true, false}},
                                                   {"vertical", {false, true}},
                                                   {"horizontal_and_vertical", {true, true}}});
  return {{},
          [horizontal = horizontal, vertical = vertical](const ImageShape& shape,
                                                         const Draws& draws, const Sampling&,
                                                         const float* from, float* to) {
            const bool flips = draws[0] <= 0.5F;
            flip(shape, flips && horizontal, flips && vertical, from, to);
          }};
}

}  // namespace

const ImageOpDef kRandomFlip{.names = {"RandomFlip", "random_flip"}, .parse_motion = parse};

}  // namespace meshwork::data

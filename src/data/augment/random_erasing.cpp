// Fills a rectangle of an image with fill_value (Zhong et al. 2017), with the probability factor.
// Its height and width are each the root of a number from `scale`, as parts of the image's. Keras
// fills with noise where no fill_value is given.
#include <algorithm>
#include <cmath>

#include "data/augment/augment.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

struct Erasing {
  float probability = 0;
  Range scale;
  float fill_value = 0;
};

/// The pixels begin <= i < end of a line.
struct Span {
  std::int64_t begin = 0, end = 0;
};

/// A part of a line, at a place that is drawn.
Span place(std::int64_t pixels, double part, float draw) {
  const auto all = static_cast<float>(pixels);
  const float length = static_cast<float>(std::sqrt(part)) * all;
  const float begin = draw * (all - length);
  return {static_cast<std::int64_t>(std::ceil(begin)),
          std::min(static_cast<std::int64_t>(std::ceil(begin + length)), pixels)};
}

void apply(const Erasing& erasing, const ImageShape& shape, const Draws& draws, const float* from,
           float* to) {
  std::copy_n(from, shape.elements(), to);
  if (draws[0] >= erasing.probability) return;
  // Given that it is below the probability, it is uniform again over what is below.
  const float width_draw = draws[0] / erasing.probability;
  const Span rows = place(shape.height, erasing.scale.at(draws[1]), draws[3]);
  const Span columns = place(shape.width, erasing.scale.at(width_draw), draws[2]);
  for (std::int64_t i = rows.begin; i < rows.end; ++i) {
    std::fill_n(to + (i * shape.width + columns.begin) * shape.channels,
                (columns.end - columns.begin) * shape.channels, erasing.fill_value);
  }
}

ImageFunction parse(config::Reader& args) {
  Erasing erasing;
  erasing.probability = static_cast<float>(read_probability(args));
  erasing.scale = read_factor(args, "scale", 0, {0.02, 0.33});
  erasing.fill_value = static_cast<float>(args.require_real("fill_value"));
  args.find("value_range");  // of Keras's noise
  return [erasing](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    apply(erasing, shape, draws, from, to);
  };
}

}  // namespace

const ImageOpDef kRandomErasing{.names = {"RandomErasing", "random_erasing"}, .parse = parse};

}  // namespace meshwork::data

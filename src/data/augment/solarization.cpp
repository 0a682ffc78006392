// Adds a part of the span of value_range to all pixels, and mirrors those that then are at the
// threshold or above: p becomes least + most - p. Of a list, Keras 3.15 takes the lower factor for
// one of 255.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const Range addition = read_factor(args, "addition_factor", 0, {});
  const Range threshold = read_factor(args, "threshold_factor", 0, {});
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const auto part = [&](const Range& factor, float draw) {
      return static_cast<float>(factor.at(draw)) * values.span();
    };
    const float added = part(addition, draws[0]);
    const float first = values.least + part(threshold, draws[1]);
    std::transform(from, from + shape.elements(), to, [&](float x) {
      const float sum = std::clamp(x + added, values.least, values.most);
      return sum < first ? sum : values.mirrored(sum);
    });
  };
}

}  // namespace

const ImageOpDef kSolarization{.names = {"Solarization", "solarization"}, .parse = parse};

}  // namespace meshwork::data

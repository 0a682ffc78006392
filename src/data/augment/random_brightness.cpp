// Adds to all of an image one number: a factor of -1 to 1 times the span of value_range, within
// which all stays.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const Range factor = read_factor(args.require("factor"), "factor", -1);
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const auto added = static_cast<float>(factor.at(draws[0])) * values.span();
    std::transform(from, from + shape.elements(), to,
                   [&](float x) { return std::clamp(x + added, values.least, values.most); });
  };
}

}  // namespace

const ImageOpDef kRandomBrightness{.names = {"RandomBrightness", "random_brightness"},
                                   .parse = parse};

}  // namespace meshwork::data

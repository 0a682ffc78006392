// Moves pixels away from the mean of their channel, or towards it: by 1 - lower to 1 + upper,
// within value_range. One factor f stands for both, as Keras says; Keras 3.15 takes 0 for the lower
// one.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

double mean_of_channel(const ImageShape& shape, const float* image, std::int64_t channel) {
  double sum = 0;
  for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) sum += image[i];
  return sum / static_cast<double>(shape.height * shape.width);
}

ImageFunction parse(config::Reader& args) {
  const config::Value& given = args.require("factor");
  const Range factor = read_factor(given, "factor", 0);
  const double lower = given.is_list() ? factor.lower : factor.upper;
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const auto contrast = static_cast<float>(Range{1 - lower, 1 + factor.upper}.at(draws[0]));
    for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
      const auto mean = static_cast<float>(mean_of_channel(shape, from, channel));
      for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) {
        to[i] = std::clamp((from[i] - mean) * contrast + mean, values.least, values.most);
      }
    }
  };
}

}  // namespace

const ImageOpDef kRandomContrast{.names = {"RandomContrast", "random_contrast"}, .parse = parse};

}  // namespace meshwork::data

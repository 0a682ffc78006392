// Stretches each channel of an image over the whole of value_range. A channel of one value stays
// as it is.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& /*draws*/, const float* from, float* to) {
    for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
      float low = from[channel], high = low;
      for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) {
        low = std::min(low, from[i]);
        high = std::max(high, from[i]);
      }
      const bool stretches = high > low;
      const float scale = stretches ? values.span() / (high - low) : 0;
      for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) {
        const float stretched = (from[i] - low) * scale + values.least;
        to[i] = stretches ? std::clamp(stretched, values.least, values.most) : from[i];
      }
    }
  };
}

}  // namespace

const ImageOpDef kAutoContrast{.names = {"AutoContrast", "auto_contrast"}, .parse = parse};

}  // namespace meshwork::data

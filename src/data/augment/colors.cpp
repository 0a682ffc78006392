#include "data/augment/colors.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meshwork::data {

ValueRange read_value_range(config::Reader& args) {
  const config::Value* const given = args.find("value_range");
  if (given == nullptr) {
    config::fail_at(args.at(),
                    "{} needs the key 'value_range', the least and the greatest value of a pixel "
                    "after scale, mean and std: [0, 1], or [0, 255] of bytes with scale: 1",
                    args.what());
  }
  if (!given->is_list() || given->list.size() != 2) {
    config::fail_at(given->at, "{}: value_range must be a list [least, greatest]", args.what());
  }
  const double first = given->list[0].as_real("value_range");
  const double second = given->list[1].as_real("value_range");
  if (first == second) {
    config::fail_at(given->at, "{}: value_range is {} alone", args.what(), first);
  }
  return {static_cast<float>(std::min(first, second)), static_cast<float>(std::max(first, second))};
}

int ValueRange::level(float pixel, int levels) const {
  // Bytes that were scaled and come back a little below themselves are these bytes.
  constexpr float kSlack = 1e-3F;
  const auto last = static_cast<float>(levels);
  const float at = (pixel - least) / span() * last + kSlack;
  return at > 0 ? static_cast<int>(std::min(at, last)) : 0;  // no number is at 0
}

Hsv to_hsv(const float* rgb) {
  const auto channel = [&](int i) {
    return std::abs(rgb[i]) < std::numeric_limits<float>::epsilon() ? 0.F : rgb[i];
  };
  const float red = channel(0), green = channel(1), blue = channel(2);
  const float value = std::max({red, green, blue});
  const float range = value - std::min({red, green, blue});
  if (range <= 0) return {0, 0, value};
  const float sixth = 1.F / (6.F * range);
  float hue = value == red     ? sixth * (green - blue)
              : value == green ? sixth * (blue - red) + 2.F / 6.F
                               : sixth * (red - green) + 4.F / 6.F;
  if (hue < 0) hue += 1;
  return {hue, value > 0 ? range / value : 0, value};
}

void to_rgb(const Hsv& hsv, float* rgb) {
  const float place = (hsv.hue - std::floor(hsv.hue)) * 6.F;
  const auto channel = [&](float share) {
    return hsv.value * (1 - hsv.saturation + hsv.saturation * std::clamp(share, 0.F, 1.F));
  };
  rgb[0] = channel(std::abs(place - 3) - 1);
  rgb[1] = channel(2 - std::abs(place - 2));
  rgb[2] = channel(2 - std::abs(place - 4));
}

}  // namespace meshwork::data

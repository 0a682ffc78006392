#pragma once

#include "config/value.h"

namespace meshwork::data {

/// The least and the greatest value of a pixel.
struct ValueRange {
  float least = 0;
  float most = 0;
  float span() const { return most - least; }
  float mirrored(float pixel) const { return least + most - pixel; }
  /// Where a pixel stands in the range cut into `levels`, 0..levels: on the scale of bytes, 255.
  int level(float pixel, int levels) const;
};

/// Keras's argument value_range, of pixels as training sees them: after scale, mean and std. It
/// must be there, for these decide on it, and Keras's 0 to 255 is seldom it.
ValueRange read_value_range(config::Reader& args);

/// As keras.ops.image.rgb_to_grayscale.
inline float gray_of(const float* rgb) {
  return 0.2989F * rgb[0] + 0.587F * rgb[1] + 0.114F * rgb[2];
}

struct Hsv {
  float hue = 0, saturation = 0, value = 0;
};

/// As keras.ops.image.rgb_to_hsv and hsv_to_rgb, of red, green and blue from 0 on.
Hsv to_hsv(const float* rgb);
void to_rgb(const Hsv& hsv, float* rgb);

}  // namespace meshwork::data

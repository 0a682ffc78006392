#pragma once

#include <array>

#include "data/augment/augment.h"
#include "data/augment/sampling.h"

namespace meshwork::data {

/// Where the pixel (x, y) of the new image comes from in the old one, as in
/// keras.ops.image.affine_transform: (a0 x + a1 y + a2, b0 x + b1 y + b2).
struct Affine {
  double a0 = 1;
  double a1 = 0;
  double a2 = 0;
  double b0 = 0;
  double b1 = 1;
  double b2 = 0;
};

/// to[y, x, c] = from at the place that `map` gives, with Keras's interpolation and filling.
void transform(const ImageShape& shape, const Affine& map, const Sampling& sampling,
               const float* from, float* to);

}  // namespace meshwork::data

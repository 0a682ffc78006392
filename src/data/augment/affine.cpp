#include "data/augment/affine.h"

#include <algorithm>
#include <array>

#include "data/augment/pixels.h"

namespace meshwork::data {
namespace {

/// A map that turns nothing: neighbours along one dimension are those of all rows, or of all
/// columns.
void transform_upright(const ImageShape& shape, const Affine& map, const Pixels& pixels,
                       float* to) {
  constexpr std::int64_t kBlock = 64;
  std::array<Neighbours, kBlock> across;
  for (std::int64_t begin = 0; begin < shape.width; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, shape.width - begin);
    for (std::int64_t j = 0; j < count; ++j) {
      across[static_cast<std::size_t>(j)] =
          pixels.across(map.a0 * static_cast<double>(begin + j) + map.a2);
    }
    for (std::int64_t i = 0; i < shape.height; ++i) {
      const Neighbours down = pixels.down(map.b1 * static_cast<double>(i) + map.b2);
      float* row = to + (i * shape.width + begin) * shape.channels;
      for (std::int64_t j = 0; j < count; ++j) {
        pixels.bilinear(across[static_cast<std::size_t>(j)], down, row + j * shape.channels);
      }
    }
  }
}

}  // namespace

void transform(const ImageShape& shape, const Affine& map, const Sampling& sampling,
               const float* from, float* to) {
  const Pixels pixels(shape, sampling, from);
  if (sampling.interpolation == Interpolation::kBilinear && map.a1 == 0 && map.b0 == 0) {
    transform_upright(shape, map, pixels, to);
    return;
  }
  for (std::int64_t i = 0; i < shape.height; ++i) {
    for (std::int64_t j = 0; j < shape.width; ++j, to += shape.channels) {
      const auto x = static_cast<double>(j);
      const auto y = static_cast<double>(i);
      const double from_x = map.a0 * x + map.a1 * y + map.a2;
      const double from_y = map.b0 * x + map.b1 * y + map.b2;
      if (sampling.interpolation == Interpolation::kNearest) {
        pixels.nearest(from_x, from_y, to);
      } else {
        pixels.bilinear(pixels.across(from_x), pixels.down(from_y), to);
      }
    }
  }
}

}  // namespace meshwork::data

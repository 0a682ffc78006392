#include "data/augment/affine.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace meshwork::data {
namespace {

/// Two neighbours along one dimension and the weight of the second one.
struct Neighbours {
  std::int64_t first = 0;  ///< -1: the fill value
  std::int64_t second = 0;
  float weight = 0;
};

Neighbours neighbours(double at, std::int64_t size, FillMode mode) {
  const double below = std::floor(at);
  const auto first = static_cast<std::int64_t>(below);
  return {source_index(first, size, mode), source_index(first + 1, size, mode),
          static_cast<float>(at - below)};
}

/// Reads pixels of one image.
class Pixels {
 public:
  Pixels(const ImageShape& shape, const Sampling& sampling, const float* from)
      : shape_(shape), sampling_(sampling), from_(from) {}

  void nearest(double x, double y, float* to) const {
    const std::int64_t column = source_index(std::llround(x), shape_.width, sampling_.fill_mode);
    const std::int64_t row = source_index(std::llround(y), shape_.height, sampling_.fill_mode);
    for (std::int64_t c = 0; c < shape_.channels; ++c) to[c] = value(row, column, c);
  }

  Neighbours across(double x) const { return neighbours(x, shape_.width, sampling_.fill_mode); }
  Neighbours down(double y) const { return neighbours(y, shape_.height, sampling_.fill_mode); }

  void bilinear(const Neighbours& across, const Neighbours& down, float* to) const {
    for (std::int64_t c = 0; c < shape_.channels; ++c) {
      const float above = mix(value(down.first, across.first, c),
                              value(down.first, across.second, c), across.weight);
      const float below = mix(value(down.second, across.first, c),
                              value(down.second, across.second, c), across.weight);
      to[c] = mix(above, below, down.weight);
    }
  }

 private:
  static float mix(float first, float second, float weight) {
    return (1 - weight) * first + weight * second;
  }

  float value(std::int64_t row, std::int64_t column, std::int64_t channel) const {
    if (row < 0 || column < 0) return sampling_.fill_value;
    return from_[(row * shape_.width + column) * shape_.channels + channel];
  }

  const ImageShape& shape_;
  const Sampling& sampling_;
  const float* from_;
};

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

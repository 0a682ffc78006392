#pragma once

#include <cmath>
#include <cstdint>

#include "data/augment/augment.h"
#include "data/augment/sampling.h"

namespace meshwork::data {

/// Two neighbours along one dimension and the weight of the second one.
struct Neighbours {
  std::int64_t first = 0;  ///< -1: the fill value
  std::int64_t second = 0;
  float weight = 0;
};

inline Neighbours neighbours(double at, std::int64_t size, FillMode mode) {
  const double below = std::floor(at);
  const auto first = static_cast<std::int64_t>(below);
  return {source_index(first, size, mode), source_index(first + 1, size, mode),
          static_cast<float>(at - below)};
}

/// Reads pixels of one image, at places between them and beyond its edge.
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

}  // namespace meshwork::data

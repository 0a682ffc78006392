#include "data/image/resize.h"

#include <algorithm>
#include <cmath>

namespace meshwork::data {
namespace {

/// The pixels of one dimension that are taken.
struct Extent {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// As keras.utils.image_dataset_from_directory cuts.
Extent centered(std::int64_t size, std::int64_t other, std::int64_t new_size,
                std::int64_t new_other) {
  const auto wanted = static_cast<std::int64_t>(static_cast<double>(other * new_size) /
                                                static_cast<double>(new_other));
  const std::int64_t count = std::max<std::int64_t>(std::min(size, wanted), 1);
  return {(size - count) / 2, count};
}

/// Two old pixels that make a new one, and the weight of the second.
struct Tap {
  std::int64_t first = 0;
  std::int64_t second = 0;
  float weight = 0;
};

Tap tap(std::int64_t index, const Extent& from, std::int64_t size, Interpolation interpolation) {
  const double step = static_cast<double>(from.count) / static_cast<double>(size);
  const double center = (static_cast<double>(index) + 0.5) * step;
  const std::int64_t last = from.count - 1;
  if (interpolation == Interpolation::kNearest) {
    const auto nearest = std::min(static_cast<std::int64_t>(center), last);
    return {from.first + nearest, from.first + nearest, 0};
  }
  const double at = std::clamp(center - 0.5, 0.0, static_cast<double>(last));
  const auto below = static_cast<std::int64_t>(at);
  return {from.first + below, from.first + std::min(below + 1, last),
          static_cast<float>(at - static_cast<double>(below))};
}

float mix(float first, float second, float weight) {
  return (1 - weight) * first + weight * second;
}

}  // namespace

void resize(const ImageSize& from, std::int64_t channels, const std::byte* pixels,
            const ResizeOptions& options, float* to) {
  const ImageSize& size = options.size;
  Extent rows{0, from.height};
  Extent columns{0, from.width};
  if (options.crop_to_aspect_ratio) {
    rows = centered(from.height, from.width, size.height, size.width);
    columns = centered(from.width, from.height, size.width, size.height);
  }
  const auto value = [&](std::int64_t row, std::int64_t column, std::int64_t channel) {
    return static_cast<float>(
        std::to_integer<int>(pixels[(row * from.width + column) * channels + channel]));
  };
  for (std::int64_t i = 0; i < size.height; ++i) {
    const Tap down = tap(i, rows, size.height, options.interpolation);
    for (std::int64_t j = 0; j < size.width; ++j) {
      const Tap across = tap(j, columns, size.width, options.interpolation);
      for (std::int64_t c = 0; c < channels; ++c) {
        const float above = mix(value(down.first, across.first, c),
                                value(down.first, across.second, c), across.weight);
        const float below = mix(value(down.second, across.first, c),
                                value(down.second, across.second, c), across.weight);
        *to++ = mix(above, below, down.weight);
      }
    }
  }
}

}  // namespace meshwork::data

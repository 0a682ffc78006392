#pragma once

#include <cstddef>
#include <cstdint>

#include "data/augment/sampling.h"
#include "data/image/image.h"

namespace meshwork::data {

struct ResizeOptions {
  ImageSize size;
  Interpolation interpolation = Interpolation::kBilinear;
  /// Cut the largest window of the new proportions out of the middle first, instead of distorting.
  bool crop_to_aspect_ratio = false;
};

/// Bytes [from.height, from.width, channels] to float32 [size.height, size.width, channels], as
/// keras.ops.image.resize does it (half-pixel centres, no antialiasing): pixel i of n new ones lies
/// at (i + 0.5) * old / n - 0.5.
void resize(const ImageSize& from, std::int64_t channels, const std::byte* pixels,
            const ResizeOptions& options, float* to);

}  // namespace meshwork::data

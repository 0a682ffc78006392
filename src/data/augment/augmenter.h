#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/augment/augment.h"

namespace meshwork::data {

/// Carries out the operations of one field on one image after another. What is drawn depends on the
/// seed, the field, the place of the operation in its list, the pass over the data, and the place
/// of the sample in the pass: on nothing that a mesh could change.
class Augmenter {
 public:
  /// `shape` is that of a sample: [height, width] or [height, width, channels].
  Augmenter(std::vector<ImageOp> ops, const std::string& field, const Shape& shape,
            std::uint64_t seed);

  /// The image that `image` becomes as sample number `position` of pass `pass`. It holds until the
  /// next call; `image` may have been overwritten.
  const float* operator()(float* image, std::int64_t pass, std::int64_t position);

 private:
  std::vector<ImageOp> ops_;
  std::vector<std::uint64_t> keys_;  ///< one per operation
  ImageShape shape_;
  std::vector<float> other_;  ///< takes turns with the image
};

}  // namespace meshwork::data

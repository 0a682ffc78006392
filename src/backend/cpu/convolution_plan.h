#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/strided_copy.h"
#include "backend/slide.h"

namespace meshwork::cpu {

/// What a device computes of a convolution, as oneDNN takes it: images and kernels in two or three
/// spatial dimensions, padding that is not negative in front of an image and not -stride or less
/// behind it. Where x is not such an image, a part of it stands in for it, in memory of its own.
struct ConvolutionPlan {
  bool empty = false;  ///< nothing is multiplied: the result is 0, if it has elements
  std::int64_t images = 0;
  std::int64_t groups = 1;
  std::int64_t in = 0;   ///< channels of a group
  std::int64_t out = 0;  ///< filters of a group
  std::vector<Slide> slides;
  std::vector<std::int64_t> high;  ///< padding behind

  bool copied = false;             ///< a copy stands in for x
  bool x_is_covered = true;        ///< all of x is in the copy
  std::vector<CopyDim> copy;       ///< from x to the copy
  std::int64_t copy_from = 0;      ///< its first element in x
  std::int64_t copy_to = 0;        ///< and in the copy, which has zeros around
  std::int64_t copy_elements = 0;  ///< of the copy with its zeros

  /// Whether there is padding that is not part of the copy.
  bool padded() const;
  /// Whether the copy has no zeros around.
  bool is_all_copied() const;
  /// Takes the elements of a stride along the last dimension for channels of one: an image 28 wide
  /// of 12 channels, seen by windows 6 wide at every second place, for one 14 wide of 24, seen by
  /// windows 3 wide at every place. Nothing moves in memory. Returns whether it can be done.
  bool fold_stride();
  /// The gradient with respect to x as a convolution of y with the kernel flipped and its channels
  /// and filters in each other's place; nothing where that is none.
  std::optional<ConvolutionPlan> of_gradient() const;
  /// Whether each channel is a group of its own, with one filter.
  bool depthwise() const { return groups > 1 && in == 1 && out == 1; }
};

/// `with_zeros`: the padding is part of the copy.
ConvolutionPlan plan_convolution(const Attrs& attrs, const TensorView& x, const TensorView& w,
                                 const TensorView& y, bool with_zeros);

}  // namespace meshwork::cpu

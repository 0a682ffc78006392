#pragma once

#include <cstdint>
#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

// What convolutions and pools have in common. Channels stand last: [n, spatial.., channels].
// Attributes, one number per spatial dimension: `strides`; `padding`, the elements before the
// first (those after the last follow from the extents); `dilations` and `window` (the extents of
// the kernel) where the op has them; `extents`, of the result.

/// How a window moves along one spatial dimension. Result o reads the elements
/// o * stride - padding + k * dilation, k < window.
struct Window1d {
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  std::int64_t dilation = 1;

  /// Elements from the first that a result reads to the last.
  std::int64_t span() const { return (window - 1) * dilation + 1; }
};

/// What results read.
Reach forward_reach(const Window1d& window);
/// Which results read an element: what the gradient of the operand needs of that of the result.
Reach backward_reach(const Window1d& window);
/// What is read by the results that read an element.
Reach neighbour_reach(const Window1d& window);

/// The window of spatial dimension `i`, of `extent` elements where the op is a convolution.
Window1d window_of(const Attrs& attrs, std::size_t i, std::int64_t extent);
/// The same of a pool, which has its extent among the attributes.
Window1d window_of(const Attrs& attrs, std::size_t i);

/// `reach` of a pool, and of the op that is its gradient.
Reach pool_reach(const OpArgs& args, std::size_t operand, std::size_t dim);
Reach pool_input_reach(const OpArgs& args, std::size_t operand, std::size_t dim);

/// "n a~ b~ c -> n a b c" for two spatial dimensions: the rule of a pool.
std::string pool_rule(const OpArgs& args);
/// [n, extents.., channels] for the operand [n, .., channels].
TensorType infer_pool(const OpArgs& args);
/// One per element of each window.
double pool_flops(const OpArgs& args);

/// The type of an image of `channels` whose other extents are those of operand 0 and the attribute.
TensorType image_type(const OpArgs& args, std::int64_t channels);

/// The same attributes, but with the extents of another image.
Attrs with_extents(const Attrs& attrs, const Shape& shape);

}  // namespace meshwork::ops

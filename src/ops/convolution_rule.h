#pragma once

#include <string>

#include "graph/op_def.h"

namespace meshwork::ops {

/// The parts of a dimension rule for the image x [n, spatial.., channels], the kernel
/// w [spatial.., channels / groups, filters] and the result y [n, spatial.., filters]:
/// "n a~ b~ ci", "[ka] [kb] ci co", "n a b co". With groups the channels are (g ci) and (g co), of
/// which g may be sharded, or g alone where a group has one.
struct ConvolutionTexts {
  std::string x, w, y;
};
/// For a kernel of shape `w` and the attribute `groups`. `x_windowed`: x carries the marks of
/// windowed dimensions, else y does.
ConvolutionTexts convolution_texts(const Attrs& attrs, const Shape& w, bool x_windowed);

/// The attributes of a convolution, but with the extents of its kernel, of shape `w`.
Attrs with_kernel_extents(const Attrs& attrs, const Shape& w);

/// 2 * elements of y * (elements of a kernel of one filter).
double convolution_flops(const Shape& y, const Shape& w);

}  // namespace meshwork::ops

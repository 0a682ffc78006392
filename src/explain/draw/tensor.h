#pragma once

#include <string>
#include <vector>

#include "explain/draw/pen.h"
#include "sharding/layout.h"

namespace meshwork {

/// A tensor to be drawn.
struct TensorPicture {
  Shape shape;
  Layout layout;
  std::vector<std::string> dims;  ///< what its dimensions are called: "batch", "height"
};

/// Which dimensions a picture shows: one line of boxes for a vector, else the two dimensions that
/// are divided into most parts (of equals the last ones), as rows and columns; where one alone is
/// divided, that and the larger one beside it. Others that are divided, too, give a picture for
/// each of their parts.
struct PictureDims {
  int rows = -1;
  int columns = -1;
  std::vector<std::size_t> others;
};
PictureDims picture_dims(const Shape& shape, const Layout& layout, const Mesh& mesh);

/// Which devices hold which part: a box for every part, as wide and high as the part is long, with
/// the numbers of the devices that hold it; index ranges at the edges. Where there are too many
/// boxes the middle ones are left out ("…"). Lines with a line feed each.
///
///    rows    columns
///            0-99    100-199
///           ┌───────┬───────┐
///     0-783 │  0,2  │  1,3  │
///           └───────┴───────┘
std::string draw_tensor(const TensorPicture& picture, const Mesh& mesh, const Pen& pen);

/// What the parts of a dimension hold while an op needs more of it than they keep.
struct HaloPicture {
  std::string dim;  ///< "height"
  std::int64_t extent = 0;
  std::vector<int> axes;       ///< that shard it
  std::vector<Interval> kept;  ///< of each part
  std::vector<Interval> held;
};

/// A bar for every part: what it keeps (█), what it fetches from its neighbours (░).
///
///         0-13    ██████████████░·············   needs 0-14    devices 0,1
///         14-27   ·············░██████████████   needs 13-27   devices 2,3
std::string draw_halo(const HaloPicture& picture, const Mesh& mesh, const Pen& pen);

/// "0-13", "5" for a single index, "none" for an empty interval.
std::string show_range(const Interval& interval);

}  // namespace meshwork

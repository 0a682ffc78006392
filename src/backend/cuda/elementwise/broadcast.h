#pragma once

#include <cstdint>
#include <vector>

#include "base/shape.h"

namespace meshwork::cuda {

/// Along which dimensions of the result a dense operand moves; along the others it repeats.
using Moves = std::vector<bool>;

/// Of an operand that is broadcast to `result` as in numpy; extents of one count as moved along.
Moves moves_of(const Shape& operand, const Shape& result);

/// Dense operands that are broadcast to a dense result, in as few dimensions as will do: [8, 3, 4]
/// with operands [3, 4] and [4] is [8, 3, 4], with [3, 4] alone it is [8, 12].
struct Nest {
  Shape extents;             ///< outermost first, none of them one; at least one dimension
  std::vector<Moves> moves;  ///< of each operand along these
};

/// Of a result that is not empty.
Nest merged(const Shape& result, const std::vector<Moves>& operands);

}  // namespace meshwork::cuda

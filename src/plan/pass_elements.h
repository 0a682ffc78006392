#pragma once

#include <optional>

#include "graph/graph.h"

namespace meshwork {

/// The elements that a pass goes over. Where it adds up rows of them, their sums and what is made
/// of these have the same shape with one element in place of each row.
struct PassElements {
  Shape shape;
  bool has_rows = false;  ///< whole ones, on all devices alike
  bool adds_rows = false;
};

/// Of a node that is a pass by itself; a sum goes over what it adds up.
PassElements elements_of(const Graph& program, ValueId id);

/// What a pass over both goes over; one goes over what the other has for a row only where that adds
/// up rows. Extents of one device do not count: all devices must come to the same order of
/// collectives. Of equal global shapes the parts are equal, too, since the one node reads the other
/// elementwise or row by row.
std::optional<PassElements> joined(const PassElements& a, const PassElements& b);

}  // namespace meshwork

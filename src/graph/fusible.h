#pragma once

#include "graph/graph.h"

namespace meshwork {

/// Whether a node may be computed with others in one pass over their elements: it is elementwise of
/// float32, or casts from whole numbers to this, or between this and floats of 16 bits.
bool is_fusible(const Graph& program, ValueId id);

/// Whether a node is one number of float32, whatever its shape is: a pass that reads it knows it.
bool is_number(const Graph& program, ValueId id);

/// Whether a node adds up the elements of a value along its last dimension, which stays as an
/// extent of 1.
bool sums_rows(const Graph& program, ValueId id);
/// Whether it does so with a value of float32.
bool is_row_sum(const Graph& program, ValueId id);

/// Whether a node adds up the columns of a value of at least two dimensions: its elements along all
/// but the last one, in float32.
bool is_column_sum(const Graph& program, ValueId id);

/// The dimensions that it adds up: of [2, 3, 4] these are {0, 1}.
std::vector<std::int64_t> axes_of_columns(const Shape& shape);

/// Whether a node makes float32 of a narrower type: of what it reads less than of what it gives.
bool is_widening(const Graph& program, ValueId id);
/// Whether a node makes a float of 16 bits of float32.
bool is_narrowing(const Graph& program, ValueId id);

}  // namespace meshwork

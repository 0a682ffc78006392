#pragma once

#include "graph/graph.h"
#include "target.h"

namespace meshwork {

// What can be computed row by row in the pass that reads it, so that the whole of it is never
// there.

/// An eighth of a cache; larger values are not in it from one node to the next. 0: the target has
/// no cache in which rows would stay until the pass over them is done.
std::int64_t near_bytes(const Target& target);

/// y [m, n] = x w, x either [m, k] or [k, m]: rows of it can be computed by themselves. An eighth
/// of a cache holds all of w [k, n], which is read for every block of rows, but not y until it is
/// read.
bool is_product_by_rows(const Graph& program, ValueId id, const Target& target);

/// Rows that are added up are as fast to compute by themselves, whatever reads them.
bool is_sum_by_rows(const Graph& program, ValueId id, const Target& target);

}  // namespace meshwork

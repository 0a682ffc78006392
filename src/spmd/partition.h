#pragma once

#include <vector>

#include "graph/graph.h"
#include "sharding/propagate.h"

namespace meshwork {

/// A global program in which neighbours agree on layouts: every value has one.
struct Partitioned {
  Graph graph;
  std::vector<Layout> layouts;
};

/// {to = "[data, null]"}: the same global value in another layout. {by, axes, dim, to_dim} once the
/// collective has been chosen.
extern const OpDef kReshard;

/// The value that reshards bring into the layout of `id`: `id` itself unless it is a reshard.
ValueId without_reshards(const Graph& graph, ValueId id);

/// Makes reshards nodes where a consumer wants another layout than is there; one reshard serves all
/// consumers of the same layout. A gathered weight is gathered again in every phase, so that it can
/// be freed in between, unless `keep_gathered`. Flexible values are computed as they are wanted.
Partitioned insert_reshards(const LaidOut& laid_out, const Mesh& mesh,
                            const PropagateOptions& options);

/// Turns every reshard into the single collectives and slices of the table in sharding/reshard.h.
Partitioned choose_collectives(const Partitioned& program, const Mesh& mesh);

/// The program of one device: local shapes, windows, packing around collectives. Collectives name
/// their members (indices of devices, in the order of the canonical sum) and counts.
Graph localize(const Partitioned& program, const Mesh& mesh, int device);

/// Throws CheckFailure unless operands have the layouts that the rules of their ops allow, no
/// partial value reaches a nonlinear op, an output or a variable.
void verify(const Partitioned& program, const Mesh& mesh);

}  // namespace meshwork

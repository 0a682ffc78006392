#pragma once

#include <map>
#include <string>

#include "sharding/propagate.h"
#include "sharding/reshard.h"

namespace meshwork {

/// A global program in which neighbours agree on layouts: every value has one.
struct Partitioned {
  Graph graph;
  ValueMap<Layout> layouts;
  std::map<ValueId, ReshardStep> steps;  ///< of every reshard, once collectives are chosen
};

/// The same global value in another layout.
extern const OpDef kReshard;

/// The value that reshards bring into the layout of `id`: `id` itself unless it is a reshard.
ValueId without_reshards(const Graph& graph, ValueId id);

/// Makes reshards nodes where a consumer wants another layout than is there; one reshard serves all
/// consumers of the same layout. A gathered weight is gathered again in every phase, so that it can
/// be freed in between, unless `keep_gathered`. Values of any_layout (propagate.h) are
/// computed once for each layout in which they are wanted.
Partitioned insert_reshards(const LaidOut& laid_out, const Mesh& mesh,
                            const PropagateOptions& options);

/// Turns every reshard into the single collectives and slices of the table in sharding/reshard.h.
Partitioned choose_collectives(const Partitioned& program, const Mesh& mesh);

/// The program of one device: local shapes, regions, packing around collectives.
Graph localize(const Partitioned& program, const Mesh& mesh, int device);

/// Throws CheckFailure unless operands have the layouts that the rules of their ops allow, no
/// partial value reaches a nonlinear op, an output or a variable that is not laid out so.
void verify(const Partitioned& program, const Mesh& mesh);

/// The text form of the graph with the layout of each value and the step of a reshard:
/// `; [null, model] by all_to_all(data) of 0 to 1`.
std::string print(const Partitioned& program, const Mesh& mesh);

}  // namespace meshwork

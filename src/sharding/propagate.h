#pragma once

#include <string>
#include <vector>

#include "sharding/layout_map.h"
#include "target.h"

namespace meshwork {

/// The layouts around one node.
struct NodeLayout {
  std::vector<Layout> inputs;  ///< what the op wants of each operand
  Layout computed;             ///< what it then gives
  Layout output;               ///< what is kept of it: `computed`, unless it is pinned or settled
  /// The value depends on constants and counters alone: every consumer has it computed in the
  /// layout it wants, at no cost.
  bool any_layout = false;
};

/// A global program with a layout for every value; reshards are not yet nodes of it.
struct LaidOut {
  Graph graph;
  ValueMap<NodeLayout> layouts;
};

struct PropagateOptions {
  bool keep_gathered = false;  ///< gathered weights stay for the backward pass
  Target target = {};
};

/// Chooses a layout for every value in one walk in program order. Along each mesh axis an op may
/// shard only a factor that an operand, or a layout pinned on its result, already brings on that
/// axis; where they bring the same one it is taken, where they disagree (or a partial operand may
/// be reduced before or after the op) the cheapest choice wins: bytes to reshard the operands, plus
/// bytes to settle the result, plus the work that an unused axis repeats. Ties: factors in the
/// order of the operands, then none, then passing a partial through. So it is for a sum of rows
/// into a large result (the gradient of a table), where operands that agree may be gathered. Pinned
/// layouts never move. An op with a `[c]` factor that arrives sharded is replaced by its split
/// form.
LaidOut propagate(const Graph& graph, const PinnedLayouts& pinned, const Mesh& mesh,
                  const PropagateOptions& options);

/// The layouts of a node whose result is to be `wanted`, and of its operands then: of a free value,
/// as its consumer wants it.
NodeLayout lay_out_for(const Graph& graph, const Node& node, const Layout& wanted,
                       const Mesh& mesh);

/// The text form of the graph with layouts: of each value the one it is kept in, the one it is
/// computed in where that is another, and where one of its operands is to be resharded those that
/// the node wants of all: `; [data] from [] partial(data) of [data, null] | [null]`. An any_layout
/// value is `any`.
std::string print(const LaidOut& program, const Mesh& mesh);

}  // namespace meshwork

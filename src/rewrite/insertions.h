#pragma once

#include <map>
#include <set>
#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// Nodes that a rewrite puts before others of the program of one device.
class Insertions {
 public:
  explicit Insertions(Graph& program) : program_(program), end_(program.end()) {}

  /// A node to stand before `reader`, after those already put there. It may be a copy of a
  /// collective with another op.
  ValueId add(ValueId reader, Node node, Region region);
  /// The same of another op: a node of the layer, phase and dtype of `reader`.
  ValueId add(ValueId reader, const OpDef& op, std::vector<ValueId> inputs, Attrs attrs,
              Shape shape, Region region);

  /// A node that was there comes before `reader`, after those already put there.
  void move(ValueId id, ValueId reader);

  /// Brings the nodes in order.
  void finish();

 private:
  Graph& program_;
  ValueId end_;  ///< of the nodes that were there
  std::map<ValueId, std::vector<ValueId>> before_;
  std::set<ValueId> moved_;
};

}  // namespace meshwork

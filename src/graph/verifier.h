#pragma once

#include "graph/known_nodes.h"

namespace meshwork {

/// Does what verify() does, in less time for programs that have many nodes in common, as one has
/// before and after a pass.
class Verifier {
 public:
  void verify(const Graph& graph);

 private:
  void check_node(const Graph& graph, ValueId id);
  bool fits_windows(const Graph& graph, ValueId id);

  KnownNodes known_;
  std::vector<TypeView> inputs_;  ///< of the node at hand
};

}  // namespace meshwork

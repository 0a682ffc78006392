#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "emulated_gpu/stream.h"

namespace emulated_gpu {

/// Pieces of work and what each comes after.
struct Graph {
  struct Node {
    Stream::Work work;
    std::set<int> after;  ///< nodes of smaller numbers
  };
  std::vector<Node> nodes;

  /// Whether every node comes before one of `last`, or is one of them.
  bool all_before(const std::set<int>& last) const;
};

/// A graph that runs, one launch after the other.
class ExecutableGraph {
 public:
  explicit ExecutableGraph(Graph graph) : graph_(std::move(graph)) {}

  /// Every node once, in another order each time, among those that the edges leave.
  CUresult run();

 private:
  Graph graph_;
  std::mutex mutex_;
  std::uint64_t luck_ = 0;
};

}  // namespace emulated_gpu

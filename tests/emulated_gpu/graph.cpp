#include "emulated_gpu/graph.h"

#include "emulated_gpu/luck.h"
#include "emulated_gpu/settings.h"

namespace emulated_gpu {

bool Graph::all_before(const std::set<int>& last) const {
  std::vector<bool> seen(nodes.size());
  for (const int node : last) seen[static_cast<std::size_t>(node)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!seen[i]) return false;
    for (const int before : nodes[i].after) seen[static_cast<std::size_t>(before)] = true;
  }
  return true;
}

CUresult ExecutableGraph::run() {
  const std::lock_guard lock(mutex_);
  const std::vector<Graph::Node>& nodes = graph_.nodes;
  std::vector<std::size_t> missing(nodes.size());
  std::vector<std::vector<std::size_t>> behind(nodes.size());
  std::vector<std::size_t> ready;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing[i] = nodes[i].after.size();
    for (const int before : nodes[i].after) behind[static_cast<std::size_t>(before)].push_back(i);
    if (missing[i] == 0) ready.push_back(i);
  }
  luck_ += settings().seed;
  while (!ready.empty()) {
    const std::size_t choice = next_luck(luck_) % ready.size();
    const std::size_t node = ready[choice];
    ready[choice] = ready.back();
    ready.pop_back();
    const CUresult result = nodes[node].work();
    if (result != CUDA_SUCCESS) return result;
    for (const std::size_t next : behind[node]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace emulated_gpu

#include "sharding/replication.h"

#include <algorithm>

#include "base/byte_size.h"
#include "base/join.h"

namespace meshwork {
namespace {

constexpr std::size_t kMostShown = 3;

struct Weight {
  std::string path;
  std::int64_t bytes = 0;
};

std::string show(const std::vector<Weight>& weights) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(weights.size(), kMostShown); ++i) {
    shown.push_back(fmt::format("'{}' ({})", weights[i].path, show_bytes(weights[i].bytes)));
  }
  const std::size_t others = weights.size() - shown.size();
  if (others == 0) return join(shown, ", ");
  return fmt::format("{} and {} other{}", join(shown, ", "), others, others == 1 ? "" : "s");
}

}  // namespace

void check_replication(const Graph& graph, const std::vector<LayoutMatch>& variables,
                       const config::Config& config, const Mesh& mesh) {
  if (!config.max_replicated || mesh.num_devices() == 1) return;
  std::vector<Weight> whole;
  double all = 0, replicated_bytes = 0;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& variable = graph.variables[i];
    if (!variable.slot_of.empty() || variable.is_cache) continue;
    const std::int64_t bytes = num_bytes(graph.type(variable.value));
    all += static_cast<double>(bytes);
    const Layout& layout = variables[i].layout;
    if (layout != replicated(layout.dims.size())) continue;
    replicated_bytes += static_cast<double>(bytes);
    whole.push_back({variable.path, bytes});
  }
  if (replicated_bytes <= config.max_replicated->part * all) return;
  std::ranges::stable_sort(whole, std::greater<>(), &Weight::bytes);
  config::fail_at(
      config.max_replicated->at,
      "max_replicated is {:g}, but {:.2g} of the weights' bytes are whole on each of {} "
      "devices: {}; lay them out in layout_map, or allow more",
      config.max_replicated->part, replicated_bytes / all, mesh.num_devices(), show(whole));
}

}  // namespace meshwork

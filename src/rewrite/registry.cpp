#include <algorithm>

#include "rewrite/rewrite.h"

namespace meshwork {

const std::vector<const RewriteDef*>& rewrites() {
  static const std::vector<const RewriteDef*> kRewrites{
      &rewriting::kFoldConstants,
      &rewriting::kCrossentropy,
      &rewriting::kWideResults,
      &rewriting::kOverlapHalo,
  };
  return kRewrites;
}

Graph rewrite(Graph program, std::span<const std::string> names) {
  for (const RewriteDef* def : rewrites()) {
    if (std::find(names.begin(), names.end(), def->name) == names.end()) continue;
    def->run(program);
    program = prune(program);
  }
  return program;
}

std::vector<int> count_readers(const Graph& program) {
  std::vector<int> readers(program.nodes.size(), 0);
  const auto read = [&](ValueId id) { ++readers[static_cast<std::size_t>(id)]; };
  for (const Node& node : program.nodes)
    std::for_each(node.inputs.begin(), node.inputs.end(), read);
  for (const Update& update : program.updates) read(update.value);
  for (const NamedValue& output : program.outputs) read(output.value);
  return readers;
}

}  // namespace meshwork

#include <algorithm>

#include "rewrite/rewrite.h"

namespace meshwork {

const std::vector<const RewriteDef*>& rewrites() {
  static const std::vector<const RewriteDef*> kRewrites{
      &rewriting::kFoldConstants, &rewriting::kCrossentropy, &rewriting::kWideResults,
      &rewriting::kOverlapHalo,   &rewriting::kSplitK,
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

}  // namespace meshwork

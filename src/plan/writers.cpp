#include "plan/writers.h"

#include <numeric>

#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {

ValueId written_for(const Graph& program, const Update& update) {
  const ValueId value = viewed(program, update.value);
  if (program.node(value).op->collective != Collective::kAllGather) return value;
  return viewed(program, program.node(value).inputs[0]);
}

std::int64_t block_begin(const Graph& program, ValueId all_gather) {
  const Node& node = program.node(all_gather);
  const auto& counts = node.attrs.integers("counts");
  const std::int64_t before =
      std::accumulate(counts.begin(), counts.begin() + node.attrs.integer("own"), std::int64_t{0});
  return before * static_cast<std::int64_t>(size_of(node.type.dtype));
}

}  // namespace meshwork

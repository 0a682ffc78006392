#include "exec/collective_call.h"

#include <fmt/format.h>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/text.h"

namespace meshwork {

namespace {

/// "all_reduce of dense, backward; all_reduce of dense_1, backward".
std::string purpose_of(const Graph& program, const std::vector<ValueId>& nodes) {
  std::string text;
  for (const ValueId id : nodes) {
    const Node& node = program.node(id);
    text += fmt::format("{}{} of {}, {}", text.empty() ? "" : "; ", node.op->name, node.path,
                        to_string(node.phase));
  }
  return text;
}

}  // namespace

CollectiveCall collective_call(const Graph& program, const std::vector<ValueId>& nodes,
                               const Target& target) {
  const Node& node = program.node(nodes.front());
  CollectiveCall call{.dtype = node.type.dtype, .purpose = purpose_of(program, nodes)};
  switch (node.op->collective) {
    case Collective::kNone:
      break;
    case Collective::kAllReduce:
      for (const ValueId id : nodes) {
        const std::int64_t bytes = num_bytes(program.type(id));
        const std::int64_t taken = id == nodes.back() ? bytes : target.aligned(bytes);
        call.count += taken / static_cast<std::int64_t>(size_of(call.dtype));
      }
      call.reduction = node.collective->reduction;
      return call;
    case Collective::kReduceScatter:
      call.kind = CollectiveCall::Kind::kReduceScatter;
      call.counts = node.collective->counts;
      call.reduction = node.collective->reduction;
      return call;
    case Collective::kAllGather:
      call.kind = CollectiveCall::Kind::kAllGather;
      call.counts = node.collective->counts;
      return call;
    case Collective::kAllToAll:
      call.kind = CollectiveCall::Kind::kAllToAll;
      call.counts = node.collective->counts;
      call.recv_counts = node.collective->recv_counts;
      return call;
  }
  MW_CHECK(false, "'{}' is no collective", node.op->name);
  return call;
}

}  // namespace meshwork

#include "model/narrow_weights.h"

#include <algorithm>
#include <span>
#include <string>

#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

bool narrows(const Node& node) {
  return node.op == &ops::kCast && is_narrow_float(node.type.dtype);
}

/// Whether all of a variable's readers take it in the same 16 bits.
bool is_read_narrow(const Graph& graph, std::span<const ValueId> readers) {
  return std::ranges::all_of(readers, [&](ValueId reader) {
    return narrows(graph.node(reader)) && graph.type(reader) == graph.type(readers.front());
  });
}

ValueMap<bool> find_narrow(const Graph& graph) {
  const Readers readers(graph);
  ValueMap<bool> narrow(graph.nodes.size(), false);
  for (const Variable& variable : graph.variables) {
    const std::vector<ValueId>& by = readers.nodes(variable.value);
    narrow[variable.value] = !variable.is_cache &&
                             graph.type(variable.value).dtype == DType::kFloat32 && !by.empty() &&
                             readers.are_nodes(variable.value) && is_read_narrow(graph, by);
  }
  return narrow;
}

}  // namespace

void keep_narrow_weights(Graph& graph) {
  const ValueMap<bool> narrow = find_narrow(graph);
  const Readers readers(graph);
  Graph result;
  Renaming renamed;
  for (const ValueId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (narrows(node) && narrow[node.inputs[0]]) {
      renamed.push_back(renamed[node.inputs[0]]);
      continue;
    }
    renamed.push_back(result.nodes.append(remap(node, renamed)));
    if (!narrow[id]) continue;
    Node& weight = result.node(renamed[id]);
    weight.type.dtype = graph.type(readers.nodes(id).front()).dtype;
    weight.attrs.set("dtype", std::string(to_string(weight.type.dtype)));
  }
  remap_names(graph, renamed, result);
  graph = std::move(result);
}

}  // namespace meshwork

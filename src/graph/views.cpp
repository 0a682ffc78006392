#include "graph/views.h"

#include <algorithm>
#include <vector>

#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Whether the rest of what a part is taken of may stay as long as the part.
bool may_keep_rest(const Graph& program, const Node& part) {
  const ValueId whole = viewed(program, part.inputs[0]);
  const Leaf leaf = program.node(whole).op->leaf;
  const bool is_small = leaf == Leaf::kNone && num_bytes(program.type(whole)) <= kSmallWhole;
  return is_small || leaf == Leaf::kVariable || part.attrs.find("read_at_once") != nullptr;
}

}  // namespace

std::optional<std::int64_t> view_offset(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (node.op->view_offset == nullptr) return std::nullopt;
  const TensorType& operand = program.type(node.inputs[0]);
  const OpArgs args{.inputs = {&operand, 1}, .attrs = node.attrs, .output = node.type};
  const std::optional<std::int64_t> offset = node.op->view_offset(args);
  if (!offset) return std::nullopt;
  const bool is_whole = num_bytes(node.type) == num_bytes(operand);
  if (!is_whole && !may_keep_rest(program, node)) return std::nullopt;
  return *offset * static_cast<std::int64_t>(size_of(node.type.dtype));
}

std::vector<std::int64_t> part_offsets(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (!node.op->joins) return {};
  const auto axis = static_cast<std::ptrdiff_t>(node.attrs.integer("axis"));
  const Shape& shape = node.type.shape;
  if (std::any_of(shape.begin(), shape.begin() + axis, [](auto extent) { return extent != 1; })) {
    return {};
  }
  std::vector<std::int64_t> begins;
  std::int64_t begin = 0;
  for (const ValueId input : node.inputs) {
    begins.push_back(begin);
    begin += num_bytes(program.type(input));
  }
  return begins;
}

ValueId viewed(const Graph& program, ValueId id) {
  while (is_view(program, id)) id = program.node(id).inputs[0];
  return id;
}

bool is_weight(const Graph& graph, ValueId id) {
  while (graph.node(id).op->same_elements) id = graph.node(id).inputs[0];
  return graph.node(id).op->leaf == Leaf::kVariable;
}

}  // namespace meshwork

#include "graph/views.h"

#include <vector>

#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Whether the rest of what a part is taken of stays as long as the part.
bool keeps_rest(const Graph& program, const Node& part) {
  return part.attrs.find("read_at_once") != nullptr ||
         program.node(viewed(program, part.inputs[0])).op->leaf == Leaf::kVariable;
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
  if (!is_whole && !keeps_rest(program, node)) return std::nullopt;
  return *offset * static_cast<std::int64_t>(size_of(node.type.dtype));
}

ValueId viewed(const Graph& program, ValueId id) {
  while (is_view(program, id)) id = program.node(id).inputs[0];
  return id;
}

}  // namespace meshwork

// add(constant, constant) -> constant, and the like: what is the same in every step and every
// element
#include <cmath>
#include <optional>
#include <vector>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// The value of all elements of `id`, if it is a constant of float32.
std::optional<float> constant_value(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (node.op != &ops::kConstant || node.type.dtype != DType::kFloat32) return std::nullopt;
  return static_cast<float>(node.attrs.real("value"));
}

std::optional<float> folded(const Graph& program, const Node& node) {
  if (node.op->fold == nullptr || node.type.dtype != DType::kFloat32) return std::nullopt;
  std::vector<float> operands;
  for (const ValueId input : node.inputs) {
    const std::optional<float> value = constant_value(program, input);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  const float value = node.op->fold(operands);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void run(Graph& program, const Target& /*target*/) {
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    const std::optional<float> value = folded(program, node);
    if (!value) continue;
    node.op = &ops::kConstant;
    node.inputs.clear();
    node.attrs = ops::constant_attrs(*value, {DType::kFloat32, program.global_shape(id)});
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kFoldConstants{.name = "fold_constants", .run = run, .makes = {&ops::kConstant}};
}  // namespace rewriting

}  // namespace meshwork

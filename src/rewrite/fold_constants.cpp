// add(constant, constant) -> constant, and the like: what is the same in every step and every
// element
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

using Function = float (*)(const std::vector<float>& operands);

/// What is computed of single values as the kernels compute it: by one operation of IEEE 754.
const std::map<std::string_view, Function>& functions() {
  using Operands = std::vector<float>;
  static const std::map<std::string_view, Function> kFunctions{
      {"add", [](const Operands& x) { return x[0] + x[1]; }},
      {"broadcast_to", [](const Operands& x) { return x[0]; }},
      {"divide", [](const Operands& x) { return x[0] / x[1]; }},
      {"multiply", [](const Operands& x) { return x[0] * x[1]; }},
      {"negate", [](const Operands& x) { return -x[0]; }},
      {"reshape", [](const Operands& x) { return x[0]; }},
      {"sqrt", [](const Operands& x) { return std::sqrt(x[0]); }},
      {"square", [](const Operands& x) { return x[0] * x[0]; }},
      {"subtract", [](const Operands& x) { return x[0] - x[1]; }},
  };
  return kFunctions;
}

/// The value of all elements of `id`, if it is a constant of float32.
std::optional<float> constant_value(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (node.op != &ops::kConstant || node.type.dtype != DType::kFloat32) return std::nullopt;
  return static_cast<float>(node.attrs.real("value"));
}

std::optional<float> folded(const Graph& program, const Node& node) {
  const auto function = functions().find(node.op->name);
  if (function == functions().end() || node.type.dtype != DType::kFloat32) return std::nullopt;
  std::vector<float> operands;
  for (const ValueId input : node.inputs) {
    const std::optional<float> value = constant_value(program, input);
    if (!value) return std::nullopt;
    operands.push_back(*value);
  }
  const float value = function->second(operands);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

void run(Graph& program) {
  for (const ValueId id : program.ids()) {
    Node& node = program.node(id);
    const std::optional<float> value = folded(program, node);
    if (!value) continue;
    node.op = &ops::kConstant;
    node.inputs.clear();
    node.attrs = {{"value", static_cast<double>(*value)},
                  {"dtype", "float32"},
                  {"shape", program.global_shape(id)}};
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kFoldConstants{.name = "fold_constants", .run = run};
}  // namespace rewriting

}  // namespace meshwork

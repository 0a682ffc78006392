#include "autodiff/gradients.h"

#include <algorithm>

#include "base/check.h"
#include "base/names.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// Which values depend on one of `wrt`.
ValueMap<bool> dependents(const Graph& graph, std::span<const ValueId> wrt) {
  ValueMap<bool> depends(graph.nodes.size(), false);
  for (const ValueId id : wrt) depends[id] = true;
  for (const ValueId id : graph.ids()) {
    const auto& inputs = graph.node(id).inputs;
    depends[id] = depends[id] || std::any_of(inputs.begin(), inputs.end(),
                                             [&](ValueId input) { return depends[input]; });
  }
  return depends;
}

/// The first value counts of those that share a gradient.
void note_gradient(GraphBuilder& b, ValueId gradient, ValueId of) {
  Node& node = b.graph().node(gradient);
  if (node.phase == Phase::kBackward && node.gradient_of == kNoValue) node.gradient_of = of;
}

}  // namespace

std::vector<ValueId> gradients(GraphBuilder& b, ValueId loss, std::span<const ValueId> wrt,
                               ValueId scale) {
  MW_CHECK(b.shape(loss).empty(), "the loss is {}", to_string(b.type(loss)));
  const ValueMap<bool> depends = dependents(b.graph(), wrt);
  const std::string saved_path = b.path();
  const Phase saved_phase = b.phase();
  b.set_phase(Phase::kBackward);

  ValueMap<ValueId> gradient(b.graph().nodes.size(), kNoValue);
  gradient[loss] = scale == kNoValue ? ops::constant(b, 1.0) : scale;
  for (ValueId id = loss; id >= 0; --id) {
    if (gradient[id] == kNoValue || !depends[id]) continue;
    const Node node = b.node(id);
    if (node.op->grad == nullptr || node.inputs.empty()) continue;
    b.set_path(node.path);
    const std::vector<ValueId> parts = node.op->grad(b, id, gradient[id]);
    MW_CHECK(parts.size() == node.inputs.size(), "gradient of {}", node.op->name);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (parts[k] == kNoValue || !depends[input]) continue;
      MW_CHECK(b.type(parts[k]) == b.type(input), "gradient of {} is {} for {}", node.op->name,
               to_string(b.type(parts[k])), to_string(b.type(input)));
      note_gradient(b, parts[k], input);
      gradient[input] =
          gradient[input] == kNoValue ? parts[k] : ops::add(b, gradient[input], parts[k]);
      note_gradient(b, gradient[input], input);
    }
  }
  b.set_path(saved_path);
  b.set_phase(saved_phase);

  std::vector<ValueId> result;
  for (const ValueId id : wrt) result.push_back(gradient[id]);
  return result;
}

void add_gradients(Graph& graph, ValueId scale) {
  std::vector<ValueId> weights;
  for (const Variable& variable : graph.variables) {
    if (variable.trainable) weights.push_back(variable.value);
  }
  GraphBuilder b(graph);
  const std::vector<ValueId> found =
      gradients(b, output_value(graph, names::kLoss), weights, scale);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != kNoValue) graph.gradients.push_back({weights[i], found[i]});
  }
}

}  // namespace meshwork

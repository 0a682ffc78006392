#include "autodiff/gradients.h"

#include <algorithm>

#include "base/check.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// Which of the first `count` values depend on one of `wrt`.
std::vector<bool> dependents(const Graph& graph, std::span<const ValueId> wrt, std::size_t count) {
  std::vector<bool> depends(count, false);
  for (const ValueId id : wrt) depends[static_cast<std::size_t>(id)] = true;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& inputs = graph.nodes[i].inputs;
    depends[i] = depends[i] || std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) {
                   return depends[static_cast<std::size_t>(input)];
                 });
  }
  return depends;
}

/// The first value counts of those that share a gradient.
void note_gradient(GraphBuilder& b, ValueId gradient, ValueId of) {
  Node& node = b.graph().nodes[static_cast<std::size_t>(gradient)];
  if (node.phase == Phase::kBackward && node.gradient_of == kNoValue) node.gradient_of = of;
}

}  // namespace

std::vector<ValueId> gradients(GraphBuilder& b, ValueId loss, std::span<const ValueId> wrt) {
  MW_CHECK(b.shape(loss).empty(), "the loss is {}", to_string(b.type(loss)));
  const auto count = static_cast<std::size_t>(loss) + 1;
  const std::vector<bool> depends =
      dependents(b.graph(), wrt, std::max(count, b.graph().nodes.size()));
  const std::string saved_path = b.path();
  const Phase saved_phase = b.phase();
  b.set_phase(Phase::kBackward);

  std::vector<ValueId> gradient(b.graph().nodes.size(), kNoValue);
  gradient[static_cast<std::size_t>(loss)] = ops::constant(b, 1.0);
  for (ValueId id = loss; id >= 0; --id) {
    const auto i = static_cast<std::size_t>(id);
    if (gradient[i] == kNoValue || !depends[i]) continue;
    const Node node = b.node(id);
    if (node.op->grad == nullptr || node.inputs.empty()) continue;
    b.set_path(node.path);
    const std::vector<ValueId> parts = node.op->grad(b, id, gradient[i]);
    MW_CHECK(parts.size() == node.inputs.size(), "gradient of {}", node.op->name);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto input = static_cast<std::size_t>(node.inputs[k]);
      if (parts[k] == kNoValue || !depends[input]) continue;
      MW_CHECK(b.type(parts[k]) == b.type(node.inputs[k]), "gradient of {} is {} for {}",
               node.op->name, to_string(b.type(parts[k])), to_string(b.type(node.inputs[k])));
      note_gradient(b, parts[k], node.inputs[k]);
      gradient[input] =
          gradient[input] == kNoValue ? parts[k] : ops::add(b, gradient[input], parts[k]);
      note_gradient(b, gradient[input], node.inputs[k]);
    }
  }
  b.set_path(saved_path);
  b.set_phase(saved_phase);

  std::vector<ValueId> result;
  for (const ValueId id : wrt) result.push_back(gradient[static_cast<std::size_t>(id)]);
  return result;
}

}  // namespace meshwork

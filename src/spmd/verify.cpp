#include <algorithm>
#include <optional>

#include "base/check.h"
#include "graph/dim_rule.h"
#include "sharding/choice.h"
#include "sharding/factor_axes.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

void check_partial(const Partitioned& program, const Node& node, ValueId id, const Mesh& mesh) {
  const bool linear = node.op->linear != Linear::kNo;
  for (const ValueId input : node.inputs) {
    const Layout& layout = program.layouts[input];
    MW_CHECK(layout.partial.empty() || linear, "%{} = {} takes %{} with layout {}", id,
             node.op->name, input, to_string(layout, mesh));
  }
}

/// Windowed dimensions of operand `i` come with the halo that the results need, others without.
void check_halos(const Partitioned& program, const DimRule& rule, const Node& node, std::size_t i,
                 const Mesh& mesh) {
  const Layout& layout = program.layouts[node.inputs[i]];
  const Shape& shape = program.graph.type(node.inputs[i]).shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto wanted = operand_halo(rule, i, d, shape, layout.dims[d], mesh);
    const auto& have = has_halo(layout, d) ? layout.halos[d] : std::vector<Interval>{};
    MW_CHECK(have == wanted, "{} takes {} with the wrong halo at {}", node.op->name,
             to_string(layout, mesh), d);
  }
}

/// A factor is sharded alike wherever it stands.
void check_factors(const Partitioned& program, const Node& node, ValueId id, const Mesh& mesh) {
  const DimRule rule = rule_of(program.graph, node);
  std::vector<std::optional<std::vector<int>>> known(rule.factors.size());
  const auto check = [&](const DimRule::Operand& operand, const Layout& layout) {
    FactorAxes axes(rule.factors.size());
    for (std::size_t d = 0; d < operand.size(); ++d) {
      add_axes(rule, operand[d], layout.dims[d], mesh, axes);
      MW_CHECK(axes_of(operand[d], axes) == layout.dims[d], "%{} = {}: {} at {}", id, node.op->name,
               to_string(layout, mesh), d);
      for (const int factor : operand[d]) {
        const auto f = static_cast<std::size_t>(factor);
        MW_CHECK(!rule.factors[f].whole || axes[f].empty(), "%{} = {}: {} must be whole at {}", id,
                 node.op->name, to_string(layout, mesh), d);
        MW_CHECK(!known[f] || *known[f] == axes[f], "%{} = {}: {} disagrees at {}", id,
                 node.op->name, to_string(layout, mesh), d);
        known[f] = axes[f];
      }
    }
  };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Layout& layout = program.layouts[node.inputs[i]];
    check(rule.inputs[i], layout);
    check_halos(program, rule, node, i, mesh);
  }
  check(rule.output, program.layouts[id]);
}

}  // namespace

void verify(const Partitioned& program, const Mesh& mesh) {
  verify(program.graph);
  MW_CHECK(program.layouts.size() == program.graph.nodes.size());
  for (const ValueId id : program.graph.ids()) {
    const Node& node = program.graph.node(id);
    check_partial(program, node, id, mesh);
    if (node.op != &kReshard) check_factors(program, node, id, mesh);
  }
  for (const auto& [id, step] : program.steps) {
    MW_CHECK(program.graph.node(id).op == &kReshard && step.after == program.layouts[id],
             "%{} does not end where its step does", id);
  }
  const auto settled = [&](ValueId id) { return program.layouts[id].partial.empty(); };
  for (const NamedValue& output : program.graph.outputs) {
    MW_CHECK(settled(output.value), "output '{}' is partial", output.name);
  }
  for (const Update& update : program.graph.updates) {
    MW_CHECK(program.layouts[update.value] == program.layouts[update.variable],
             "update of %{} by %{}", update.variable, update.value);
  }
}

}  // namespace meshwork

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/check.h"
#include "graph/known_nodes.h"
#include "ops/ops.h"
#include "sharding/choice.h"
#include "sharding/factor_axes.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

/// Whether the op may work on operands of which these are partial over an axis.
bool may_take(const Node& node, const std::vector<std::size_t>& partial) {
  switch (node.op->linear) {
    case Linear::kNo:
      return partial.empty();
    case Linear::kJointly:
      return partial.empty() || partial.size() == node.inputs.size();
    case Linear::kEach:
      return partial.size() <= 1;
    case Linear::kFirst:
      return partial.empty() || (partial.size() == 1 && partial.front() == 0);
  }
  return false;
}

/// A result is partial over what its operands are, as far as the op is linear in them, and over
/// `reduced`: what shards the factors that it combines.
void check_partial(const Partitioned& program, ValueId id, const std::set<int>& reduced,
                   const Mesh& mesh) {
  const Node& node = program.graph.node(id);
  const Layout& layout = program.layouts[id];
  const auto text = [&] {
    return fmt::format("%{} = {}: {}", id, node.op->name, to_string(layout, mesh));
  };
  for (int axis = 0; axis < std::ssize(mesh.sizes); ++axis) {
    std::vector<std::size_t> partial;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Layout& operand = program.layouts[node.inputs[i]];
      if (!is_partial(operand, axis)) continue;
      // The greatest of rounded numbers is the greatest, rounded.
      const bool passes = operand.reduction == Reduction::kSum || node.op == &ops::kCast;
      MW_CHECK(passes && operand.reduction == layout.reduction, "{} takes {}", text(),
               to_string(operand, mesh));
      partial.push_back(i);
    }
    MW_CHECK(may_take(node, partial), "{} of operands that are partial over axis {}", text(), axis);
    MW_CHECK(is_partial(layout, axis) == (!partial.empty() || reduced.contains(axis)),
             "{} along axis {}", text(), axis);
  }
  MW_CHECK(reduced.empty() || layout.reduction == node.op->reduction, "{}", text());
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

/// A factor is sharded alike wherever it stands. Gives the axes of those that the result lacks.
std::set<int> check_factors(const Partitioned& program, const DimRule& rule, ValueId id,
                            const Mesh& mesh) {
  const Node& node = program.graph.node(id);
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
  std::set<int> reduced;
  for (std::size_t f = 0; f < known.size(); ++f) {
    if (!known[f] || DimRule::contains(rule.output, static_cast<int>(f))) continue;
    reduced.insert(known[f]->begin(), known[f]->end());
  }
  return reduced;
}

}  // namespace

void verify(const Partitioned& program, const Mesh& mesh) {
  verify(program.graph);
  MW_CHECK(program.layouts.size() == program.graph.nodes.size());
  KnownNodes known;
  for (const ValueId id : program.graph.ids()) {
    const Node& node = program.graph.node(id);
    if (node.op == &kReshard) continue;
    const DimRule& rule = known.rule(program.graph, node);
    const std::set<int> reduced = check_factors(program, rule, id, mesh);
    if (!is_leaf(node)) check_partial(program, id, reduced, mesh);
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

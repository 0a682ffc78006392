#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "plan/fusion_groups.h"
#include "plan/plan.h"
#include "support/make_plan.h"

namespace meshwork::testing {

inline const TensorType kType{DType::kFloat32, {4, 6}};

/// A program of single nodes.
struct Program {
  Graph graph;
  GraphBuilder builder{graph};

  ValueId input(const std::string& name, Shape shape = kType.shape) {
    return ops::input(builder, name, {DType::kFloat32, std::move(shape)});
  }
  ValueId add(const OpDef& op, std::vector<ValueId> inputs, const Attrs& attrs = {}) {
    return builder.add(op, std::move(inputs), attrs);
  }
  Plan plan(bool fusions = true) {
    for (const Node& node : graph.nodes) graph.regions.push_back(whole_region(node.type.shape));
    return make_plan(graph, {}, fusions);
  }
};

/// "add relu | reduce_sum | ..": the ops of each instruction.
inline std::string instructions(const Plan& plan) {
  std::string text;
  for (const Instruction& instruction : plan.instructions) {
    if (!text.empty()) text += " | ";
    for (const ValueId id : instruction.nodes) {
      if (id != instruction.nodes.front()) text += ' ';
      text += plan.program.node(id).op->name;
    }
  }
  return text;
}

/// "relu | multiply subtract": the ops of each group.
inline std::string groups(const Graph& program, const Target& target) {
  const Fused fused = find_fusion_groups(program, target);
  std::string text;
  int last = -1;
  for (const ValueId id : fused.program.ids()) {
    if (fused.program.node(id).op->leaf != Leaf::kNone) continue;
    if (!text.empty()) text += fused.fusion[id] == last ? " " : " | ";
    text += fused.program.node(id).op->name;
    last = fused.fusion[id];
  }
  return text;
}

}  // namespace meshwork::testing

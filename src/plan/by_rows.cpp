#include "plan/by_rows.h"

#include "graph/dim_rule.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

std::int64_t global_bytes(const Graph& program, ValueId id) {
  return num_bytes({DType::kFloat32, program.global_shape(id)});
}

}  // namespace

std::int64_t near_bytes(const Target& target) { return target.cache / 8; }

bool is_product_by_rows(const Graph& program, ValueId id, const Target& target) {
  const Node& node = program.node(id);
  if (!node.op->sums_products || program.type(id).dtype != DType::kFloat32) return false;
  const ValueId x = node.inputs[0], w = node.inputs[1];
  const std::int64_t near = near_bytes(target);
  if (global_bytes(program, id) < near || global_bytes(program, w) > near || x == w) return false;
  const bool of_matrices = program.type(id).shape.size() == 2 &&
                           program.type(x).shape.size() == 2 && program.type(w).shape.size() == 2;
  if (!of_matrices || program.type(x).dtype != DType::kFloat32) return false;
  const DimRule rule = rule_of(program, node);
  const int row = DimRule::major_factor(rule.output, 0);
  const int column = DimRule::major_factor(rule.output, 1);
  return DimRule::contains(rule.inputs[0], row) && !DimRule::contains(rule.inputs[0], column) &&
         DimRule::major_factor(rule.inputs[1], 1) == column;
}

bool is_sum_by_rows(const Graph& program, ValueId id, const Target& target) {
  return program.node(id).op->adds_rows && program.type(id).dtype == DType::kFloat32 &&
         program.type(id).shape.size() == 2 && global_bytes(program, id) >= near_bytes(target);
}

}  // namespace meshwork

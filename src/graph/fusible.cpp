#include "graph/fusible.h"

#include <algorithm>
#include <numeric>

#include "graph/op_def.h"

namespace meshwork {
namespace {

bool is_float32(DType dtype) { return dtype == DType::kFloat32; }
bool is_whole_number(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

/// Whether passes, which compute in float32, cast so.
bool is_cast(DType from, DType to) {
  return (is_float32(from) && is_narrow_float(to)) ||
         (is_float32(to) && (is_narrow_float(from) || is_whole_number(from)));
}

}  // namespace

bool is_fusible(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (!node.op->elementwise) return false;
  const DType to = node.type.dtype;
  if (node.inputs.size() == 1) {
    const DType from = program.type(node.inputs[0]).dtype;
    if (from != to) return is_cast(from, to);
  }
  return is_float32(to) && std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
           return is_float32(program.type(input).dtype);
         });
}

bool is_number(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  return node.op->is_constant && is_float32(node.type.dtype);
}

bool sums_rows(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (!node.op->sums) return false;
  const Shape last{static_cast<std::int64_t>(node.type.shape.size()) - 1};
  return node.attrs.flag("keepdims") && node.attrs.integers("axes") == last;
}

bool is_row_sum(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  return sums_rows(program, id) && is_float32(node.type.dtype) &&
         is_float32(program.type(node.inputs[0]).dtype);
}

bool is_column_sum(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  if (!node.op->sums || !is_float32(node.type.dtype)) return false;
  const TensorType& x = program.type(node.inputs[0]);
  return x.shape.size() > 1 && (is_float32(x.dtype) || is_narrow_float(x.dtype)) &&
         node.attrs.integers("axes") == axes_of_columns(x.shape);
}

std::vector<std::int64_t> axes_of_columns(const Shape& shape) {
  std::vector<std::int64_t> axes(shape.size() - 1);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

bool is_widening(const Graph& program, ValueId id) {
  const Node& node = program.node(id);
  return is_fusible(program, id) && node.inputs.size() == 1 &&
         size_of(program.type(node.inputs[0]).dtype) < size_of(node.type.dtype);
}

bool is_narrowing(const Graph& program, ValueId id) {
  return is_fusible(program, id) && is_narrow_float(program.type(id).dtype);
}

}  // namespace meshwork

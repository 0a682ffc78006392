#include "base/check.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

std::vector<std::int64_t> wide(const std::vector<int>& axes) { return {axes.begin(), axes.end()}; }

Attrs step_attrs(const ReshardStep& step, const Layout& before, const Mesh& mesh) {
  Attrs attrs{{"by", std::string(to_string(step.kind))}, {"axes", wide(step.axes)}};
  if (step.dim >= 0) attrs.set("dim", static_cast<std::int64_t>(step.dim));
  if (step.to_dim >= 0) attrs.set("to_dim", static_cast<std::int64_t>(step.to_dim));
  if (is_reduction(step)) {
    attrs.set("reduction", std::string(to_string(before.reduction)));
  }
  attrs.set("to", to_string(step.after, mesh));
  return attrs;
}

}  // namespace

Partitioned choose_collectives(const Partitioned& program, const Mesh& mesh) {
  Partitioned result;
  std::vector<ValueId> renamed;
  const auto rename = [&](ValueId id) { return renamed[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < program.graph.nodes.size(); ++i) {
    Node node = program.graph.nodes[i];
    for (ValueId& input : node.inputs) input = rename(input);
    if (node.op != &kReshard) {
      result.graph.nodes.push_back(std::move(node));
      result.layouts.push_back(program.layouts[i]);
    } else {
      ValueId value = node.inputs[0];
      // What is added up stays in float32 until all of it is there, and is rounded once.
      const auto convert = [&](DType to) {
        if (result.graph.type(value).dtype == to) return;
        Node cast = node;
        cast.op = &ops::kCast;
        cast.inputs = {value};
        cast.attrs = {{"dtype", std::string(to_string(to))}};
        cast.type.dtype = to;
        result.layouts.push_back(result.layouts[static_cast<std::size_t>(value)]);
        value = static_cast<ValueId>(result.graph.nodes.size());
        result.graph.nodes.push_back(std::move(cast));
      };
      const DType dtype = node.type.dtype;
      for (ReshardStep& step : reshard_steps(result.layouts[static_cast<std::size_t>(value)],
                                             program.layouts[i], node.type.shape, mesh)) {
        convert(is_reduction(step) ? sum_dtype(dtype) : dtype);
        Node move = node;
        move.inputs = {value};
        move.type.dtype = result.graph.type(value).dtype;
        move.attrs = step_attrs(step, result.layouts[static_cast<std::size_t>(value)], mesh);
        value = static_cast<ValueId>(result.graph.nodes.size());
        result.graph.nodes.push_back(std::move(move));
        result.layouts.push_back(std::move(step.after));
      }
      convert(dtype);
    }
    renamed.push_back(static_cast<ValueId>(result.graph.nodes.size()) - 1);
  }

  result.graph.variables = program.graph.variables;
  for (Variable& variable : result.graph.variables) variable.value = rename(variable.value);
  for (const Update& update : program.graph.updates) {
    result.graph.updates.push_back({rename(update.variable), rename(update.value)});
  }
  for (const NamedValue& output : program.graph.outputs) {
    result.graph.outputs.push_back({output.name, rename(output.value)});
  }
  for (const NamedValue& output : program.graph.layer_outputs) {
    result.graph.layer_outputs.push_back({output.name, rename(output.value)});
  }
  return result;
}

}  // namespace meshwork

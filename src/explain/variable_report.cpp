#include "explain/variable_report.h"

#include <algorithm>

#include "base/names.h"
#include "optim/optimizer.h"
#include "train/callbacks/callback.h"

namespace meshwork {

std::vector<VariableRow> variable_rows(const GlobalProgram& program, const Mesh& mesh) {
  const Graph& graph = program.partitioned.graph;
  const int first = mesh.device_at(std::vector<int>(mesh.sizes.size(), 0));
  std::vector<VariableRow> rows;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const LayoutMatch& laid_out = program.variables[i];
    VariableRow row;
    row.path = graph.variables[i].path;
    row.type = graph.type(graph.variables[i].value);
    if (laid_out.rule) {
      row.rule = laid_out.rule->pattern;
      row.rule_at = laid_out.rule->at;
    }
    row.layout = to_string(laid_out.layout, mesh);
    // The first parts are the largest.
    row.bytes =
        num_bytes({row.type.dtype, local_shape(row.type.shape, laid_out.layout, mesh, first)});
    row.replicated = laid_out.layout == replicated(row.type.shape.size()) && mesh.num_devices() > 1;
    row.slot = !graph.variables[i].slot_of.empty();
    row.trainable = graph.variables[i].trainable;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OutputRow> output_rows(const CompileTrace& trace, const Mesh& mesh) {
  const Graph& graph = trace.laid_out.graph;
  std::vector<OutputRow> rows;
  for (const NamedValue& output : graph.layer_outputs) {
    const bool known = std::any_of(rows.begin(), rows.end(),
                                   [&](const OutputRow& row) { return row.path == output.name; });
    if (known || output.name == names::kPrediction) continue;
    OutputRow& row = rows.emplace_back();
    row.path = output.name;
    row.shape = graph.type(output.value).shape;
    const auto id = static_cast<std::size_t>(output.value);
    Layout layout = without_halos(trace.laid_out.layouts[id].output);
    layout.partial.clear();
    row.layout = to_string(layout, mesh);
    for (std::size_t i = 0; i < mesh.names.size(); ++i) {
      const bool is_part = mesh.whole(static_cast<int>(i)) != mesh.names[i];
      row.has_parts =
          row.has_parts || (is_part && row.layout.find(mesh.names[i]) != row.layout.npos);
    }
    for (const auto& [name, rule] : trace.pinned.output_rules) {
      if (name != output.name) continue;
      row.rule = rule.pattern;
      row.rule_at = rule.at;
    }
  }
  return rows;
}

VariableTotals totals_of(const std::vector<VariableRow>& rows, bool slots) {
  VariableTotals totals;
  for (const VariableRow& row : rows) {
    if (row.slot != slots) continue;
    totals.parameters += num_elements(row.type.shape);
    totals.bytes += row.bytes;
    if (row.replicated) totals.replicated_bytes += row.bytes;
  }
  return totals;
}

std::int64_t non_trainable_parameters(const std::vector<VariableRow>& rows) {
  std::int64_t count = 0;
  for (const VariableRow& row : rows) {
    if (!row.slot && !row.trainable) count += num_elements(row.type.shape);
  }
  return count;
}

Job job_for_checks(const config::Config& config, int devices, std::string& missing) {
  if (config.compile) {
    check_compile(config);
    check_optimizer(config.compile->optimizer);
    check_callbacks(config);
  }
  return make_job_if_possible(config, devices, missing);
}

const GlobalProgram& program_for_checks(Job& job, CompileTrace* trace) {
  ProgramKey key{ProgramKind::kPredict, job.config.fit.batch_size};
  if (can_train(job)) {
    key = {ProgramKind::kTrain, std::min(key.batch, job.split.samples)};
    use_split(job, key.kind, job.split);
  }
  add_program(job, key.kind, key.batch, trace);
  return job.programs.at(key);
}

}  // namespace meshwork

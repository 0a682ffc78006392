#include "explain/model_summary.h"

#include <algorithm>
#include <map>

#include "explain/explain.h"
#include "spmd/segments.h"

namespace meshwork {
namespace {

/// Inputs and layers by their paths, with what they take. The ends of blocks are no layers of their
/// own; a layer that is used again is one row, connected to all that it takes.
std::vector<SummaryRow> layers_of(const config::ModelSpec& model) {
  std::vector<SummaryRow> rows;
  std::map<std::string, std::string> givers;  // whose output a name stands for
  for (const config::InputSpec& input : model.inputs) {
    SummaryRow& row = rows.emplace_back();
    row.name = input.name;
    row.class_name = "InputLayer";
    givers[input.name] = input.name;
  }
  for (const config::LayerSpec& spec : model.layers) {
    std::vector<std::string> inputs;
    for (const config::LayerOutput& input : spec.inputs) inputs.push_back(givers.at(input.layer));
    if (spec.layer.name.empty()) {
      givers[spec.name] = inputs.front();
      continue;
    }
    givers[spec.name] = spec.path;
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const SummaryRow& r) { return r.name == spec.path; });
    if (row == rows.end()) {
      row = rows.insert(row, SummaryRow{});
      row->name = spec.path;
      row->class_name = spec.layer.name;
    }
    row->inputs.insert(row->inputs.end(), inputs.begin(), inputs.end());
  }
  return rows;
}

/// The layer that a variable belongs to: the longest name that its path begins with.
SummaryRow* owner_of(const std::string& path, std::vector<SummaryRow>& rows) {
  SummaryRow* owner = nullptr;
  for (SummaryRow& row : rows) {
    const bool owns = path.starts_with(row.name + "/");
    if (owns && (owner == nullptr || row.name.size() > owner->name.size())) owner = &row;
  }
  return owner;
}

void add_variables(const GlobalProgram& program, const Mesh& mesh, std::vector<SummaryRow>& rows) {
  const Graph& graph = program.partitioned.graph;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& variable = graph.variables[i];
    SummaryRow* owner = variable.slot_of.empty() ? owner_of(variable.path, rows) : nullptr;
    if (owner == nullptr) continue;
    owner->parameters += num_elements(graph.type(variable.value).shape);
    const Layout& layout = program.variables[i].layout;
    owner->variables.push_back({variable.path.substr(owner->name.size() + 1),
                                to_string(layout, mesh), layout == replicated(layout.dims.size())});
  }
}

void add_outputs(const LaidOut& laid_out, const Mesh& mesh, std::vector<SummaryRow>& rows) {
  std::map<std::string, ValueId> outputs;
  for (const NamedValue& output : laid_out.graph.layer_outputs) {
    outputs.emplace(output.name, output.value);
  }
  for (SummaryRow& row : rows) {
    const auto found = outputs.find(row.name + "/output");
    if (found == outputs.end()) continue;
    const ValueId id = found->second;
    row.shape = laid_out.graph.type(found->second).shape;
    if (!laid_out.layouts[id].any_layout) row.layout = to_string(laid_out.layouts[id].output, mesh);
  }
}

bool is_list(const std::vector<SummaryRow>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool fits = i == 0 ? rows[i].inputs.empty()
                             : rows[i].inputs == std::vector<std::string>{rows[i - 1].name};
    if (!fits) return false;
  }
  return true;
}

}  // namespace

ModelSummary summarize(const config::Config& config, const GlobalProgram& program,
                       const CompileTrace& trace, const Mesh& mesh) {
  ModelSummary summary;
  summary.training = !trace.agreed.graph.updates.empty();
  summary.rows = layers_of(config.model);
  add_variables(program, mesh, summary.rows);
  add_outputs(trace.laid_out, mesh, summary.rows);
  for (const OutputRow& row : output_rows(trace, mesh)) summary.outputs.push_back(row.path);
  summary.is_list = is_list(summary.rows);
  const auto rows = variable_rows(program, mesh);
  summary.weights = totals_of(rows, false);
  summary.slots = totals_of(rows, true);
  summary.non_trainable = non_trainable_parameters(rows);
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    const SegmentCost& cost = program.costs[i];
    if (cost.values == 0) continue;
    summary.again.push_back(to_string(program.segments[i]));
    summary.again_cost.values += cost.values;
    summary.again_cost.bytes += cost.bytes;
    summary.again_cost.flops += cost.flops;
  }
  const Sent sent = sent_for(transfers_of(trace.agreed, mesh));
  summary.sent = sent.bytes;
  summary.transfers = sent.collectives;
  return summary;
}

}  // namespace meshwork

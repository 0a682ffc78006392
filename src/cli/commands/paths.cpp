#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/notes.h"
#include "cli/rank.h"
#include "explain/variable_report.h"
#include "job/mesh_json.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork paths configs/keras_guide.yaml
      every weight: path, shape, type, whether it is trained, the rule of the layout map that hit
      it, layout, bytes of one device; then totals, and the outputs of layers and inputs, which a
      layout map may name, too, as they are laid out now, to be copied
  meshwork paths configs/keras_guide.yaml --mesh 1x8 --slots
      with the state of the optimizer
  meshwork paths configs/keras_guide.yaml --json | python3 -m json.tool

A weight without a rule is replicated: every device holds all of it.)";

struct PathsArguments {
  std::shared_ptr<ConfigArguments> config;
  bool json = false;
  bool slots = false;
};

void print_totals(const std::vector<VariableRow>& rows, bool slots, const char* what) {
  const VariableTotals totals = totals_of(rows, slots);
  if (slots && totals.parameters == 0) return;
  const double share = totals.bytes == 0 ? 0
                                         : 100.0 * static_cast<double>(totals.replicated_bytes) /
                                               static_cast<double>(totals.bytes);
  fmt::print("{}: {} numbers, {} bytes per device, of them {} replicated ({:.1f} %)\n", what,
             totals.parameters, totals.bytes, totals.replicated_bytes, share);
  const std::int64_t frozen = non_trainable_parameters(rows);
  if (!slots && frozen > 0) fmt::print("  of them {} are not trained\n", frozen);
}

/// "d1/kernel (line 3)".
std::string show_rule(const std::string& rule, const config::Location& at) {
  return fmt::format("{} ({})", rule,
                     at.line > 0 ? fmt::format("line {}", at.line) : "command line");
}

/// Lines of a layout map that would lay out the outputs as they are now.
void print_outputs(const std::vector<OutputRow>& rows) {
  fmt::print("\noutputs, which a layout map may name, too\n");
  for (const OutputRow& row : rows) {
    const std::string line =
        fmt::format("  {}{}: {}", row.has_parts ? "# " : "", row.path, row.layout);
    if (row.rule.empty()) {
      fmt::print("{}\n", line);
    } else {
      fmt::print("{}  # {}\n", line, show_rule(row.rule, row.rule_at));
    }
  }
  if (std::ranges::any_of(rows, &OutputRow::has_parts)) {
    fmt::print(
        "note: lines with # name a part of an axis, such as model.0, into which the compiler "
        "splits it; a layout map names whole axes\n");
  }
}

void print_table(const std::vector<VariableRow>& rows, const Mesh& mesh, bool slots) {
  std::vector<std::vector<std::string>> lines{
      {"path", "shape", "dtype", "trainable", "rule", "layout", "bytes/device"}};
  for (const VariableRow& row : rows) {
    if (row.slot && !slots) continue;
    const std::string rule = row.rule.empty() ? "-" : show_rule(row.rule, row.rule_at);
    lines.push_back({row.path, to_string(row.type.shape), std::string(to_string(row.type.dtype)),
                     row.trainable ? "yes" : "no", rule, row.layout, std::to_string(row.bytes)});
  }
  std::vector<std::size_t> widths(lines.front().size(), 0);
  for (const auto& line : lines) {
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  for (const auto& line : lines) {
    std::string text;
    for (std::size_t c = 0; c + 1 < line.size(); ++c) {
      text += fmt::format("{:<{}}  ", line[c], widths[c]);
    }
    fmt::print("{}{:>{}}\n", text, line.back(), widths.back());
  }
  const int devices = mesh.num_devices();
  fmt::print("\nmesh {}: {} device{}\n", to_string(mesh), devices, devices == 1 ? "" : "s");
}

nlohmann::ordered_json totals_json(const std::vector<VariableRow>& rows, bool slots) {
  const VariableTotals totals = totals_of(rows, slots);
  return {{"parameters", totals.parameters},
          {"bytes_per_device", totals.bytes},
          {"replicated_bytes_per_device", totals.replicated_bytes}};
}

void add_rule(nlohmann::ordered_json& entry, const std::string& rule, const config::Location& at) {
  if (rule.empty()) return;
  entry["rule"] = rule;
  entry["rule_at"] = config::to_string(at);
}

/// Of axes that the compiler splits: {"model": {"model.0": 2, "model.1": 4}}.
void add_axis_parts(const Mesh& mesh, nlohmann::ordered_json& result) {
  for (int axis = 0; axis < std::ssize(mesh.names); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (mesh.names[a] == mesh.whole(axis)) continue;
    result["mesh_axis_parts"][mesh.whole(axis)][mesh.names[a]] = mesh.sizes[a];
  }
}

void print_json(const std::vector<VariableRow>& rows, const std::vector<OutputRow>& outputs,
                const Job& job) {
  const Mesh& mesh = job.mesh;
  nlohmann::ordered_json result;
  result["mesh"] = mesh_json(mesh);
  add_axis_parts(mesh, result);
  if (!mesh.devices.empty()) result["mesh_devices"] = mesh.devices;
  result["variables"] = nlohmann::ordered_json::array();
  for (const VariableRow& row : rows) {
    nlohmann::ordered_json entry{{"path", row.path},
                                 {"shape", row.type.shape},
                                 {"dtype", to_string(row.type.dtype)},
                                 {"trainable", row.trainable},
                                 {"rule", nullptr},
                                 {"layout", row.layout},
                                 {"bytes_per_device", row.bytes},
                                 {"replicated", row.replicated},
                                 {"optimizer_state", row.slot}};
    add_rule(entry, row.rule, row.rule_at);
    result["variables"].push_back(std::move(entry));
  }
  result["outputs"] = nlohmann::ordered_json::array();
  for (const OutputRow& row : outputs) {
    nlohmann::ordered_json entry{{"path", row.path},
                                 {"shape", row.shape},
                                 {"rule", nullptr},
                                 {"layout", row.layout},
                                 {"has_axis_parts", row.has_parts}};
    add_rule(entry, row.rule, row.rule_at);
    result["outputs"].push_back(std::move(entry));
  }
  result["notes"] = notes_of(job);
  result["totals"] = {{"weights", totals_json(rows, false)},
                      {"optimizer_state", totals_json(rows, true)}};
  fmt::print("{}\n", json_dump(result, 2));
}

ExitCode run(const PathsArguments& arguments) {
  const config::Config config = load(*arguments.config);
  std::string missing;
  Job job = job_for_checks(config, launched_devices(), missing);
  const Mesh& mesh = job.mesh;
  CompileTrace trace;
  const GlobalProgram& program = program_for_checks(job, &trace);
  if (launched_rank() != 0) return ExitCode::kOk;
  const auto rows = variable_rows(program, mesh);
  const auto outputs = output_rows(trace, mesh);
  if (arguments.json) {
    print_json(rows, outputs, job);
    return ExitCode::kOk;
  }
  print_table(rows, mesh, arguments.slots);
  print_totals(rows, false, "weights");
  print_totals(rows, true, "optimizer state");
  print_outputs(outputs);
  for (const std::string& note : notes_of(job)) fmt::print("note: {}\n", note);
  if (!missing.empty()) fmt::print("without data, hence without optimizer state: {}\n", missing);
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<PathsArguments>();
  arguments->config = add_config_arguments(options);
  options.add_flag("--json", "the same, and the optimizer's state, as JSON", arguments->json);
  options.add_flag("--slots", "list the state of the optimizer, too", arguments->slots);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kPaths{
    .name = "paths",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "every variable: path, shape, dtype, rule, layout, bytes per device",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

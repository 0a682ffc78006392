#include "compile.h"

#include <fmt/format.h>

#include <algorithm>

#include "autodiff/gradients.h"
#include "base/check.h"
#include "base/nearest.h"
#include "graph/text.h"
#include "optim/optimizer.h"
#include "plan/fit_memory.h"
#include "rewrite/rewrite.h"
#include "spmd/segments.h"

namespace meshwork {
namespace {

/// Computing elementwise nodes together, which the plan does, goes by this name.
const std::string kChains = "chains";

Mode mode_of(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kEvaluate:
      return Mode::kEvaluate;
    case ProgramKind::kPredict:
      return Mode::kPredict;
    default:
      return Mode::kTrain;
  }
}

void append_backward_and_update(const config::Config& config, ProgramKind kind, Graph& graph) {
  GraphBuilder b(graph);
  std::vector<ValueId> weights;
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    if (!graph.variables[i].trainable) continue;
    weights.push_back(graph.variables[i].value);
    indices.push_back(i);
  }
  const auto found = gradients(b, output_value(graph, "loss"), weights);
  std::vector<Gradient> given;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kNoValue) continue;
    given.push_back({indices[i], found[i]});
    graph.gradients.push_back({weights[i], found[i]});
  }
  if (given.empty()) {
    config::fail_at(config.model.at,
                    "model: the loss depends on no trainable variable; add a layer "
                    "with weights, such as Dense");
  }
  if (kind == ProgramKind::kAccumulate) {
    add_accumulation(b, config.compile->optimizer, given);
  } else {
    add_optimizer(b, config.compile->optimizer, given);
  }
}

/// A program without nodes, but with the variables of `step`.
Graph only_variables(const Graph& step) {
  Graph graph;
  for (const Variable& variable : step.variables) {
    Variable copy = variable;
    copy.value = static_cast<ValueId>(graph.nodes.size());
    graph.nodes.push_back(step.node(variable.value));
    graph.variables.push_back(copy);
  }
  return graph;
}

/// A program that gives every variable of `step` its initial value and does nothing else.
Graph initialization(const Graph& step) {
  Graph graph = only_variables(step);
  for (const Variable& variable : graph.variables) {
    // A node of its own for each variable, so that none has to share a layout.
    const OpArgs args{.inputs = {}, .attrs = variable.init_attrs, .output = {}};
    const TensorType type = variable.init->infer(args);
    const Node node = graph.node(variable.value);
    MW_CHECK(type == node.type, "'{}' is {}, but starts as {}", variable.path, to_string(node.type),
             to_string(type));
    graph.updates.push_back({variable.value, static_cast<ValueId>(graph.nodes.size())});
    graph.nodes.push_back({.op = variable.init,
                           .inputs = {},
                           .attrs = variable.init_attrs,
                           .type = type,
                           .path = node.path,
                           .phase = Phase::kUpdate});
  }
  return graph;
}

/// A program that gives every weight the value of its average and does nothing else.
Graph averaging(const config::Config& config, const Graph& step) {
  Graph graph = only_variables(step);
  graph.updates = averages_in_place(graph, config.compile->optimizer);
  return graph;
}

/// Whether a program has neither inputs nor layers.
bool is_only_updates(ProgramKind kind) {
  return kind == ProgramKind::kInitialize || kind == ProgramKind::kAverage;
}

/// Names of the fusions that are not switched off.
std::vector<std::string> wanted_fusions(const config::FusionSpec& spec) {
  std::vector<std::string> known{kChains};
  for (const RewriteDef* def : rewrites()) known.emplace_back(def->name);
  std::vector<std::string> wanted = spec.all ? known : std::vector<std::string>{};
  for (const auto& [name, is_wanted, at] : spec.choices) {
    if (std::ranges::count(known, name) == 0) {
      config::fail_at(at, "fusion: there is no '{}'{}", name, suggestion(name, known));
    }
    if (!is_wanted) std::erase(wanted, name);
  }
  return wanted;
}

void show(const Dump& dump, std::string_view stage, const std::function<std::string()>& text) {
  if (dump) dump(stage, text());
}

std::string print_laid_out(const LaidOut& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    const NodeLayout& layout = program.nodes[static_cast<std::size_t>(id)];
    if (layout.flexible) return std::string("any");
    std::string text = to_string(layout.output, mesh);
    if (!(layout.computed == layout.output)) text += " from " + to_string(layout.computed, mesh);
    return text;
  });
}

std::string print_rematerialized(const GlobalProgram& program, const LaidOut& laid_out,
                                 const Mesh& mesh) {
  std::string text;
  for (std::size_t i = 0; i < program.segments.size(); ++i) {
    const SegmentCost& cost = program.costs[i];
    if (cost.values == 0) continue;
    text += fmt::format("again {}: {} values, {:.0f} bytes not kept, {:.0f} operations repeated\n",
                        to_string(program.segments[i]), cost.values, cost.bytes, cost.flops);
  }
  return text.empty() ? "nothing is computed again\n" : text + print_laid_out(laid_out, mesh);
}

std::string print_partitioned(const Partitioned& program, const Mesh& mesh) {
  return print(program.graph, [&](ValueId id) {
    return to_string(program.layouts[static_cast<std::size_t>(id)], mesh);
  });
}

bool trains(ProgramKind kind) {
  return kind == ProgramKind::kTrain || kind == ProgramKind::kAccumulate;
}

/// Bytes of a program's variables on each device.
std::vector<std::int64_t> variable_bytes(const GlobalProgram& program, const Mesh& mesh) {
  std::vector<std::int64_t> bytes;
  for (int device = 0; device < mesh.num_devices(); ++device) {
    bytes.push_back(compile_for_device(program, mesh, device, {}).variable_bytes);
  }
  return bytes;
}

/// The segments that `program` states and those that it takes beside them to meet the limit on
/// every device, each with its `reserved` bytes as of compile_for_device(). An Error if none do.
std::vector<Segment> segments_within_limit(const config::Config& config, const LaidOut& laid_out,
                                           const Mesh& mesh, const GlobalProgram& program,
                                           const WorkspaceQuery& workspace,
                                           const std::vector<std::int64_t>& reserved,
                                           const std::string& name) {
  const PropagateOptions options{.keep_gathered = config.keep_gathered};
  const auto measure = [&](const std::vector<Segment>& segments, const std::vector<int>& devices) {
    Rematerialized again = rematerialize(laid_out, segments, mesh);
    GlobalProgram tried;
    tried.fusions = program.fusions;
    tried.partitioned = choose_collectives(insert_reshards(again.program, mesh, options), mesh);
    SegmentsMeasure found{std::move(again.costs), {}};
    for (const int device : devices) {
      found.devices.push_back(memory_use(compile_for_device(
          tried, mesh, device, workspace, reserved[static_cast<std::size_t>(device)])));
    }
    return found;
  };
  MemoryChoice choice = fit_memory(program.segments, segmentations(config.model),
                                   config.memory_limit->bytes, mesh.num_devices(), measure);
  check_memory_limit(config, name, choice.use, choice.device);
  return std::move(choice.segments);
}

}  // namespace

const std::vector<std::string>& stages() {
  static const std::vector<std::string> kStages{"forward",       "step",      "layouts",
                                                "rematerialize", "reshards",  "collectives",
                                                "local",         "rewritten", "plan"};
  return kStages;
}

Graph build_step(const config::Config& config, const Signature& signature, ProgramKind kind,
                 std::int64_t batch, const Dump& dump, std::map<std::string, std::string>* absent) {
  Graph graph = build_model(config, signature, mode_of(kind), batch, absent);
  verify(graph);
  show(dump, "forward", [&] { return print(graph); });
  if (mode_of(kind) == Mode::kTrain) append_backward_and_update(config, kind, graph);
  if (kind == ProgramKind::kInitialize) graph = initialization(graph);
  if (kind == ProgramKind::kAverage) graph = averaging(config, graph);
  graph = prune(graph);
  verify(graph);
  show(dump, "step", [&] { return print(graph); });
  return graph;
}

std::string describe(ProgramKind kind, std::int64_t batch) {
  switch (kind) {
    case ProgramKind::kTrain:
      return fmt::format("a training step with a batch of {}", batch);
    case ProgramKind::kAccumulate:
      return fmt::format("a step that accumulates gradients with a batch of {}", batch);
    case ProgramKind::kEvaluate:
      return fmt::format("evaluation with a batch of {}", batch);
    case ProgramKind::kPredict:
      return fmt::format("prediction with a batch of {}", batch);
    case ProgramKind::kInitialize:
    case ProgramKind::kAverage:
      break;
  }
  return "holding the variables";
}

void check_memory_limit(const config::Config& config, const std::string& program,
                        const MemoryUse& use, int device) {
  if (!config.memory_limit) return;
  const std::int64_t limit = config.memory_limit->bytes;
  if (use.bytes() <= limit) return;
  config::fail_at(
      config.memory_limit->at,
      "memory_limit is {} bytes, but {} takes at least {} on device {}: {} for weights, {} for the "
      "state of the optimizer and {} for the step; lower fit.batch_size (gradient_accumulation_"
      "steps of the optimizer makes up for it), take more devices, or shard variables with "
      "layout_map and optimizer_layout",
      limit, program, use.bytes(), device, use.weights, use.optimizer, use.step);
}

GlobalProgram compile(const config::Config& config, const Signature& signature, const Mesh& mesh,
                      ProgramKind kind, std::int64_t batch, const Dump& dump, CompileTrace* trace,
                      const WorkspaceQuery& workspace) {
  std::map<std::string, std::string> absent;
  const Graph graph = build_step(config, signature, kind, batch, dump, &absent);
  GlobalProgram program;
  if (!is_only_updates(kind)) program.notes = check_rules_hit(graph, config, absent);
  program.fusions = wanted_fusions(config.fusion);
  const PinnedLayouts pinned = pin_layouts(graph, config, mesh);
  program.variables = pinned.variables;
  const PropagateOptions options{.keep_gathered = config.keep_gathered};

  LaidOut laid_out = propagate(graph, pinned, mesh, options);
  show(dump, "layouts", [&] { return print_laid_out(laid_out, mesh); });

  if (trains(kind)) {
    program.segments = stated_segments(config, graph);
    if (config.memory_limit) {
      // A step that only accumulates has not all variables that others find in memory.
      std::vector<std::int64_t> reserved(static_cast<std::size_t>(mesh.num_devices()), 0);
      if (kind == ProgramKind::kAccumulate) {
        reserved =
            variable_bytes(compile(config, signature, mesh, ProgramKind::kInitialize, batch), mesh);
      }
      program.segments = segments_within_limit(config, laid_out, mesh, program, workspace, reserved,
                                               describe(kind, batch));
    }
    Rematerialized again = rematerialize(laid_out, program.segments, mesh);
    laid_out = std::move(again.program);
    program.costs = std::move(again.costs);
  }
  show(dump, "rematerialize", [&] { return print_rematerialized(program, laid_out, mesh); });

  const Partitioned agreed = insert_reshards(laid_out, mesh, options);
  verify(agreed, mesh);
  show(dump, "reshards", [&] { return print_partitioned(agreed, mesh); });

  program.partitioned = choose_collectives(agreed, mesh);
  verify(program.partitioned, mesh);
  show(dump, "collectives", [&] { return print_partitioned(program.partitioned, mesh); });
  if (trace != nullptr) *trace = {pinned, laid_out, agreed};
  return program;
}

Plan compile_for_device(const GlobalProgram& program, const Mesh& mesh, int device,
                        const WorkspaceQuery& workspace, std::int64_t reserved, const Dump& dump) {
  Graph local = prune(localize(program.partitioned, mesh, device));
  verify(local);
  show(dump, "local", [&] { return print(local); });
  local = rewrite(std::move(local), program.fusions);
  verify(local);
  show(dump, "rewritten", [&] { return print(local); });
  Plan plan =
      make_plan(std::move(local), workspace,
                {.chains = std::ranges::count(program.fusions, kChains) > 0, .reserved = reserved});
  show(dump, "plan", [&] { return to_string(plan); });
  return plan;
}

}  // namespace meshwork

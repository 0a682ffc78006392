#include "compile.h"

#include <algorithm>
#include <map>
#include <set>

#include "autodiff/gradients.h"
#include "base/names.h"
#include "base/nearest.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "optim/optimizer.h"
#include "optim/step.h"
#include "plan/fit_memory.h"
#include "plan/fusion_groups.h"
#include "plan/memory_limit.h"
#include "rewrite/rewrite.h"
#include "sharding/idle_axes.h"
#include "sharding/replication.h"
#include "sharding/wanted_parts.h"
#include "spmd/segments.h"

namespace meshwork {
namespace {

/// What the passes over the program for all devices have made so far.
struct Compilation {
  const config::Config& config;
  const Signature& signature;
  const Mesh& mesh;
  ProgramKind kind;
  std::int64_t batch;
  const MemoryQuery& query;
  Graph graph;  ///< before it is laid out
  ModelFacts facts;
  CompileTrace trace;
  GlobalProgram program;
  Verifier verifier;

  const Target& target() const { return program.target; }
  PropagateOptions options() const {
    return {.keep_gathered = config.keep_gathered, .target = target()};
  }
};

/// What the passes over the program of one device have made so far.
struct DeviceCompilation {
  const GlobalProgram& global;
  const Mesh& mesh;
  int device;
  const MemoryQuery& query;
  std::int64_t reserved;
  ValueMap<int> fusion;
  Plan plan;
  Verifier verifier;
};

void forward(Compilation&);
void backward(Compilation&);
void step(Compilation&);
void layouts(Compilation&);
void rematerialize(Compilation&);
void reshards(Compilation&);
void collectives(Compilation&);

void verify_graph(Compilation& c) { c.verifier.verify(c.graph); }
void verify_laid_out(Compilation& c) { c.verifier.verify(c.trace.laid_out.graph); }
std::string print_graph(const Compilation& c) { return print(c.graph); }
std::string print_laid_out(const Compilation& c) { return print(c.trace.laid_out, c.mesh); }

const std::vector<Pass<Compilation>>& global_passes() {
  using C = Compilation;
  static const std::vector<Pass<C>> kPasses{
      {"forward", forward, verify_graph, print_graph},
      {"backward", backward, verify_graph, print_graph},
      {"step", step, verify_graph, print_graph},
      {"layouts", layouts, verify_laid_out, print_laid_out},
      {"rematerialize", rematerialize, verify_laid_out,
       [](const C& c) {
         const std::string again = to_string(c.program.segments, c.program.costs);
         return again.empty() ? "nothing is computed again\n" : again + print_laid_out(c);
       }},
      {"reshards", reshards, [](C& c) { verify(c.trace.agreed, c.mesh); },
       [](const C& c) { return print(c.trace.agreed, c.mesh); }},
      {"collectives", collectives, [](C& c) { verify(c.program.partitioned, c.mesh); },
       [](const C& c) { return print(c.program.partitioned, c.mesh); }},
  };
  return kPasses;
}

void local(DeviceCompilation&);
void order(DeviceCompilation&);
void fuse_elementwise(DeviceCompilation&);
void schedule(DeviceCompilation&);
void stacks(DeviceCompilation&);
void horizontal(DeviceCompilation&);
void memory(DeviceCompilation&);

void verify_program(DeviceCompilation& d) { d.verifier.verify(d.plan.program); }
std::string print_program(const DeviceCompilation& d) { return print(d.plan.program); }
std::string print_plan(const DeviceCompilation& d) { return to_string(d.plan); }

Pass<DeviceCompilation> pass_of(const RewriteDef& rewrite) {
  const auto run = [&rewrite](DeviceCompilation& d) {
    rewrite.run(d.plan.program, d.global.target);
    d.plan.program = prune(std::move(d.plan.program));
  };
  return {std::string(rewrite.name), run, verify_program, print_program, true};
}

const std::vector<Pass<DeviceCompilation>>& device_passes() {
  static const std::vector<Pass<DeviceCompilation>> kPasses = [] {
    std::vector<Pass<DeviceCompilation>> passes{{"local", local, verify_program, print_program}};
    for (const RewriteDef* rewrite : rewrites()) passes.push_back(pass_of(*rewrite));
    // What is there after all of them, whichever were switched off.
    passes.push_back({"rewritten", [](DeviceCompilation&) {}, nullptr, print_program});
    passes.push_back({"order", order, verify_program, print_program});
    passes.push_back({"elementwise", fuse_elementwise, verify_program, print_program, true});
    passes.push_back({"schedule", schedule, nullptr, print_plan});
    passes.push_back({"stacks", stacks, nullptr, print_plan, true});
    passes.push_back({"horizontal", horizontal, nullptr, print_plan, true});
    passes.push_back({"plan", memory, nullptr, print_plan});
    return passes;
  }();
  return kPasses;
}

void forward(Compilation& c) {
  c.graph = build_model(c.config, c.signature, mode_of(c.kind), c.batch, &c.facts);
}

void backward(Compilation& c) {
  if (mode_of(c.kind) != Mode::kTrain) return;
  add_gradients(c.graph, loss_scale(c.graph, c.config.compile->optimizer));
  if (!c.graph.gradients.empty()) return;
  config::fail_at(c.config.model.at,
                  "model: the loss depends on no trainable variable; add a layer "
                  "with weights, such as Dense");
}

/// Names of the outputs of layers that other layers take, or that the model gives.
std::set<std::string> taken_outputs(const config::ModelSpec& model) {
  std::map<std::string, std::string> paths;  // by name
  for (const config::LayerSpec& layer : model.layers) paths[layer.name] = layer.path;
  std::set<std::string> taken{names::kPrediction};
  const auto take = [&](const config::LayerOutput& from) {
    const auto path = paths.find(from.layer);
    taken.insert(fmt::format("{}/{}", path == paths.end() ? from.layer : path->second,
                             from.output.empty() ? "output" : from.output));
  };
  for (const config::LayerSpec& layer : model.layers) std::ranges::for_each(layer.inputs, take);
  for (const config::OutputSpec& output : model.outputs) take(output.from);
  return taken;
}

/// Leaves out what nothing needs, and with it outputs of layers, which are absent then.
void leave_out_unneeded(Compilation& c) {
  const std::vector<NamedValue> before = c.graph.layer_outputs;
  c.graph = prune(std::move(c.graph));
  if (c.graph.layer_outputs.size() == before.size()) return;
  std::set<std::string> kept;
  for (const NamedValue& output : c.graph.layer_outputs) kept.insert(output.name);
  const std::set<std::string> taken = taken_outputs(c.config.model);
  for (const NamedValue& output : before) {
    if (kept.contains(output.name)) continue;
    c.facts.absent.emplace(output.name,
                           taken.contains(output.name)
                               ? ""  // other programs need it
                               : "nothing takes it: name it in 'inputs' or 'outputs', or leave the "
                                 "rule out");
  }
}

void step(Compilation& c) {
  if (mode_of(c.kind) == Mode::kTrain) {
    add_update(c.graph, c.config.compile->optimizer, c.kind == ProgramKind::kAccumulate);
  }
  if (c.kind == ProgramKind::kInitialize) c.graph = initialization(c.graph);
  if (c.kind == ProgramKind::kAverage) c.graph = averaging(c.graph, c.config.compile->optimizer);
  if (c.kind == ProgramKind::kReduce) c.graph = reduction_of_sums(c.graph);
  leave_out_unneeded(c);
}

void note_idle_axes(Compilation& c) {
  for (const std::string& axis : idle_axes(c.trace.laid_out, c.mesh)) {
    c.program.notes.push_back(fmt::format(
        "{}: mesh: nothing is split along '{}': the devices along it all compute the same; lay "
        "something out along it (layout_map), or leave it out",
        config::to_string(c.config.mesh.at), axis));
  }
}

void note_optimizer(Compilation& c) {
  std::vector<std::string> weights;
  for (const Variable& variable : c.graph.variables) {
    if (variable.slot_of.empty()) weights.push_back(variable.path);
  }
  const std::vector<std::string> notes = notes_on(c.config.compile->optimizer, weights);
  c.program.notes.insert(c.program.notes.end(), notes.begin(), notes.end());
}

void layouts(Compilation& c) {
  if (!only_updates(c.kind)) {
    c.program.notes = check_rules_hit(c.graph, c.config, c.facts.absent);
    c.program.notes.insert(c.program.notes.end(), c.facts.notes.begin(), c.facts.notes.end());
    if (c.config.tensor_float32 && !c.target().tensor_float32) {
      c.program.notes.push_back(
          "tensor_float_32: true has no effect on a CPU, which computes products of whole float32");
    }
    if (c.config.collectives == config::Collectives::kNccl && !c.target().nccl) {
      c.program.notes.push_back(
          "collectives: nccl has no effect on a CPU, whose devices add in the canonical order");
    }
  }
  c.trace.pinned = pin_layouts(c.graph, c.config, c.mesh);
  c.program.variables = c.trace.pinned.variables;
  check_replication(c.graph, c.program.variables, c.config, c.mesh);
  c.trace.laid_out = propagate(c.graph, c.trace.pinned, c.mesh, c.options());
  compute_wanted_parts(c.trace.laid_out, c.mesh);
  if (c.kind != ProgramKind::kTrain) return;
  note_idle_axes(c);
  note_optimizer(c);
}

/// Bytes of the variables of all programs on each device.
std::vector<std::int64_t> reserved_bytes(const Compilation& c) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(c.mesh.num_devices()), 0);
  // A step that only accumulates has not all variables that others find in memory.
  if (c.kind != ProgramKind::kAccumulate) return bytes;
  const GlobalProgram all =
      compile(c.config, c.signature, c.mesh, c.target(), ProgramKind::kInitialize, c.batch);
  const DeviceKinds kinds(all.partitioned, c.mesh);
  std::map<std::vector<std::int64_t>, std::int64_t> known;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const int device = static_cast<int>(i);
    const auto [found, is_new] = known.emplace(kinds.kind_of(device), 0);
    if (is_new) found->second = compile_for_device(all, c.mesh, device, {}).variable_bytes;
    bytes[i] = found->second;
  }
  return bytes;
}

/// The segments that the program states and those that it takes beside them to meet the limit on
/// every device. An Error if none do. Before anything is computed again, passes do without memory
/// to wait for others in.
std::vector<Segment> segments_within_limit(Compilation& c) {
  const std::vector<std::int64_t> reserved = reserved_bytes(c);
  const auto measure = [&](const std::vector<Segment>& segments, const std::vector<int>& devices) {
    Rematerialized again = rematerialize(c.trace.laid_out, segments, c.mesh, c.target());
    GlobalProgram tried;
    tried.target = c.target();
    tried.fusions = c.program.fusions;
    tried.partitioned =
        choose_collectives(insert_reshards(again.program, c.mesh, c.options()), c.mesh);
    SegmentsMeasure found{std::move(again.costs), {}};
    const DeviceKinds kinds(tried.partitioned, c.mesh);
    std::map<std::pair<std::int64_t, std::vector<std::int64_t>>, MemoryUse> known;
    for (const int device : devices) {
      const std::int64_t bytes = reserved[static_cast<std::size_t>(device)];
      const auto [use, is_new] = known.try_emplace({bytes, kinds.kind_of(device)});
      if (is_new) {
        use->second = memory_use(compile_for_device(tried, c.mesh, device, c.query, bytes));
      }
      found.devices.push_back(use->second);
    }
    return found;
  };
  const std::int64_t limit = c.config.memory_limit->bytes;
  const auto fit = [&](const std::vector<std::vector<Segment>>& ways) {
    return fit_memory(c.program.segments, ways, limit, c.mesh.num_devices(), measure);
  };
  const std::vector<std::vector<Segment>> ways = segmentations(c.config.model);
  const bool may_wait = c.target().launch_bytes > 0;
  MemoryChoice choice = may_wait ? fit({}) : fit(ways);
  if (may_wait && choice.use.bytes() > limit) {
    c.program.target.launch_bytes = 0;
    choice = fit(ways);
  }
  check_memory_limit(c.config, {describe(c.kind, c.batch), smaller_batch(c.kind)}, choice.use,
                     choice.device);
  return std::move(choice.segments);
}

void rematerialize(Compilation& c) {
  if (!trains(c.kind)) return;
  c.program.segments = stated_segments(c.config, c.graph);
  if (c.config.memory_limit) c.program.segments = segments_within_limit(c);
  Rematerialized again = rematerialize(c.trace.laid_out, c.program.segments, c.mesh, c.target());
  c.trace.laid_out = std::move(again.program);
  c.program.costs = std::move(again.costs);
}

void reshards(Compilation& c) {
  c.trace.agreed = insert_reshards(c.trace.laid_out, c.mesh, c.options());
}

void collectives(Compilation& c) {
  c.program.partitioned = choose_collectives(c.trace.agreed, c.mesh);
}

void local(DeviceCompilation& d) {
  d.plan.program = prune(localize(d.global.partitioned, d.mesh, d.device));
}

void order(DeviceCompilation& d) {
  d.plan.program = arranged(with_overwrite_edges(std::move(d.plan.program)), d.global.target);
}

void fuse_elementwise(DeviceCompilation& d) {
  Fused found = find_fusion_groups(std::move(d.plan.program), d.global.target);
  d.plan.program = std::move(found.program);
  d.fusion = std::move(found.fusion);
}

void schedule(DeviceCompilation& d) { schedule(d.plan, d.global.target, d.fusion); }

void stacks(DeviceCompilation& d) { stack_products(d.plan, d.global.target); }

void horizontal(DeviceCompilation& d) { join_alike(d.plan, d.global.target); }

void memory(DeviceCompilation& d) {
  ask_for_memory(d.plan, d.query);
  lay_out_memory(d.plan, d.global.target, d.reserved);
}

/// Names of the fusions that pay on the target, as far as the file says nothing else and there are
/// kernels for what they make.
std::vector<std::string> wanted_fusions(const config::FusionSpec& spec, const Target& target) {
  std::vector<std::string> known, wanted;
  for (const Pass<DeviceCompilation>& pass : device_passes()) {
    if (!pass.is_fusion) continue;
    known.push_back(pass.name);
    if (spec.all && target.fusions.contains(pass.name)) wanted.push_back(pass.name);
  }
  for (const auto& [name, is_wanted, at] : spec.choices) {
    if (std::ranges::count(known, name) == 0) {
      config::fail_at(at, "fusion: there is no '{}'{}", name, suggestion(name, known));
    }
    std::erase(wanted, name);
    if (is_wanted) wanted.push_back(name);
  }
  for (const RewriteDef* rewrite : rewrites()) {
    const bool runs = std::ranges::all_of(
        rewrite->makes, [&](const OpDef* op) { return target.kernels.contains(op->name); });
    if (!runs) std::erase(wanted, rewrite->name);
  }
  return wanted;
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const auto& pass : global_passes()) names.push_back(pass.name);
  for (const auto& pass : device_passes()) names.push_back(pass.name);
  return names;
}

GlobalProgram compile(const config::Config& config, const Signature& signature, const Mesh& mesh,
                      const Target& target, ProgramKind kind, std::int64_t batch,
                      const CompileOptions& options) {
  Compilation c{config, signature, mesh, kind, batch, options.query, {}, {}, {}, {}, {}};
  c.program.target = target;
  c.program.fusions = wanted_fusions(config.fusion, target);
  for (const Pass<Compilation>& pass : global_passes()) run_pass(pass, c, options.watch);
  if (options.trace != nullptr) *options.trace = std::move(c.trace);
  return std::move(c.program);
}

Plan compile_for_device(const GlobalProgram& program, const Mesh& mesh, int device,
                        const MemoryQuery& query, std::int64_t reserved, const Watch& watch) {
  DeviceCompilation d{program, mesh, device, query, reserved, {}, {}, {}};
  for (const Pass<DeviceCompilation>& pass : device_passes()) {
    if (pass.is_fusion && std::ranges::count(program.fusions, pass.name) == 0) continue;
    run_pass(pass, d, watch);
  }
  return std::move(d.plan);
}

}  // namespace meshwork

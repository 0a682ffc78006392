#include "explain/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "explain/alike.h"
#include "explain/words.h"
#include "graph/flops.h"
#include "graph/op_def.h"
#include "optim/optimizer.h"
#include "plan/fullest.h"
#include "train/fit.h"

namespace meshwork {
namespace {

std::string name_of(const Transfer& transfer) {
  if (!transfer.name.empty()) return transfer.name;
  if (transfer.maker.empty()) return transfer.op;
  return fmt::format("{} of {}", transfer.op, transfer.maker);
}

SentRow row_of(const Transfer& transfer, const Mesh& mesh) {
  SentRow row{.phase = transfer.phase == Phase::kRecompute ? Phase::kBackward : transfer.phase,
              .layer = transfer.layer,
              .value = name_of(transfer),
              .from = show_layout(transfer.from, mesh),
              .to = show_layout(transfer.to, mesh),
              .collectives = {},
              .count = 1,
              .bytes = transfer.bytes};
  for (const ReshardStep& step : transfer.steps) {
    if (!sends(step)) continue;
    row.collectives.push_back(
        fmt::format("{} over {}", to_string(step.kind), axis_names(step.axes, mesh)));
  }
  return row;
}

bool are_alike(const SentRow& a, const SentRow& b) {
  return a.phase == b.phase && a.from == b.from && a.to == b.to && a.collectives == b.collectives &&
         without_numbers(a.layer) == without_numbers(b.layer) &&
         without_numbers(a.value) == without_numbers(b.value);
}

void add_sent(const CompileTrace& trace, const Mesh& mesh, PlanReport& report) {
  const std::vector<Transfer> transfers = transfers_of(trace.agreed, mesh);
  const Sent sent = sent_for(transfers);
  report.sent_bytes = sent.bytes;
  report.collectives = sent.collectives;
  for (const Transfer& transfer : transfers) {
    const SentRow row = row_of(transfer, mesh);
    if (row.collectives.empty()) continue;
    const auto same = std::ranges::find_if(
        report.sent, [&](const SentRow& other) { return are_alike(row, other); });
    if (same == report.sent.end()) {
      report.sent.push_back(row);
      continue;
    }
    same->layer = joined(same->layer, row.layer);
    same->value = joined(same->value, row.value);
    same->count += row.count;
    same->bytes += row.bytes;
  }
}

/// Names of values of a local program: of inputs and variables, else what computes them.
std::string name_of(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "scratch memory";
  const Node& node = graph.node(id);
  if (node.op->leaf == Leaf::kInput) return node.attrs.text("name");
  return node.path.empty() ? std::string(node.op->name)
                           : fmt::format("{} of {}", node.op->name, node.path);
}

FullestStep fullest_step(const Plan& plan) {
  FullestStep step;
  const Fullest fullest = fullest_moment(plan);
  if (fullest.instruction < 0) return step;
  const Graph& graph = plan.program;
  const auto& instructions = plan.instructions;
  const Instruction* at = &instructions[static_cast<std::size_t>(fullest.instruction)];
  if (at->kind == Instruction::Kind::kFinish) {
    at = &instructions[static_cast<std::size_t>(at->started)];
  }
  const ValueId result = at->nodes.back();
  step.phase = graph.node(result).phase;
  step.place = name_of(graph, result);
  step.bytes = fullest.bytes;
  for (const Fullest::Held& held : fullest.values) {
    const std::string name = name_of(graph, held.value);
    const auto same = std::ranges::find_if(step.held, [&](const HeldRow& row) {
      return without_numbers(row.value) == without_numbers(name);
    });
    if (same == step.held.end()) {
      step.held.push_back({name, 1, held.bytes});
      continue;
    }
    same->value = joined(same->value, name);
    ++same->count;
    same->bytes += held.bytes;
  }
  std::ranges::stable_sort(step.held, std::greater<>(), &HeldRow::bytes);
  return step;
}

}  // namespace

Operations operations_of(const Plan& plan, int device) {
  Operations operations{.device = device};
  for (const Node& node : plan.program.nodes) {
    if (node.op->leaf != Leaf::kNone) continue;
    const double flops = flops_of(plan.program, node);
    if (node.phase == Phase::kUpdate) {
      operations.update += flops;
    } else {
      (node.phase == Phase::kForward ? operations.forward : operations.backward) += flops;
    }
  }
  return operations;
}

std::int64_t calls_of(const Plan& plan) {
  std::int64_t calls = 0;
  for (const Traffic& traffic : traffic(plan)) calls += traffic.calls;
  return calls;
}

namespace {

void add_accumulating(const Job& job, PlanReport& report) {
  const auto found = job.programs.find({ProgramKind::kAccumulate, report.batch});
  if (found == job.programs.end()) return;
  report.accumulating = steps_per_update(job.config.compile->optimizer) - 1;
  const Partitioned& program = found->second.partitioned;
  for (const auto& [value, step] : program.steps) {
    report.accumulating_bytes += step_bytes(step, program.graph.type(value), job.mesh);
  }
}

}  // namespace

PlanReport report_plan(Job& job, const CompileTrace& trace, bool is_timed) {
  PlanReport report;
  const ProgramKey key{ProgramKind::kTrain, std::min(job.config.fit.batch_size, job.split.samples)};
  report.batch = key.batch;
  add_sent(trace, job.mesh, report);
  prepare_fit(job);
  add_accumulating(job, report);
  std::map<int, FullestStep> fullest;
  report.memory = planned_memory(job, [&](int device, const DevicePlans& plans) {
    const Plan& plan = plans.plans.at(key);
    const Operations operations = operations_of(plan, device);
    const bool is_first = fullest.empty();
    if (is_first || operations.all() > report.most.all()) report.most = operations;
    if (is_first || operations.all() < report.least.all()) report.least = operations;
    report.calls = std::max(report.calls, calls_of(plan));
    fullest.emplace(device, fullest_step(plan));
  });
  report.fullest = fullest.at(report.memory.device);
  if (is_timed) report.time = time_alone(job, key, report.most.device);
  return report;
}

StepTime step_time(const PlanReport& report, double link) {
  return {.computes = report.time ? report.time->seconds : 0, .sends = report.sent_bytes / link};
}

}  // namespace meshwork

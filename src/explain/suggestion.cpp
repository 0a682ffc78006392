#include "explain/suggestion.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/error.h"
#include "explain/alike.h"
#include "explain/variable_report.h"
#include "sharding/layout_search.h"

namespace meshwork {
namespace {

/// What weights that one rule lays out have in common: all but the numbers of the blocks that they
/// stand in. "block_2/dense_1/kernel" -> "block/dense_1/kernel".
std::string kind_of(const std::string& path) {
  const std::size_t variable = path.rfind('/');
  const std::size_t layer =
      variable == std::string::npos || variable == 0 ? variable : path.rfind('/', variable - 1);
  if (layer == std::string::npos) return path;
  return without_numbers(path.substr(0, layer)) + path.substr(layer);
}

/// Weights of one kind each, of which none is laid out by a rule.
std::vector<LayoutGroup> groups_of(const GlobalProgram& program) {
  struct Members {
    std::vector<std::string> paths;
    LayoutGroup group;
    bool is_free = true;
  };
  std::map<std::pair<std::string, std::size_t>, Members> members;
  const Graph& graph = program.partitioned.graph;
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const Variable& variable = graph.variables[i];
    const TensorType& type = graph.type(variable.value);
    if (!variable.slot_of.empty() || type.shape.empty()) continue;
    Members& alike = members[{kind_of(variable.path), type.shape.size()}];
    LayoutGroup& group = alike.group;
    if (alike.paths.empty()) group.shape = type.shape;
    for (std::size_t d = 0; d < type.shape.size(); ++d) {
      group.shape[d] = std::min(group.shape[d], type.shape[d]);
    }
    group.bytes += num_bytes(type);
    alike.paths.push_back(variable.path);
    alike.is_free = alike.is_free && !program.variables[i].rule;
  }
  std::vector<LayoutGroup> groups;
  for (auto& [key, alike] : members) {
    if (!alike.is_free) continue;
    alike.group.pattern = pattern_of(alike.paths);
    alike.group.dims.resize(alike.group.shape.size());
    groups.push_back(std::move(alike.group));
  }
  return groups;
}

/// All state of the optimizer, by its first dimension (ZeRO).
LayoutGroup optimizer_group(const GlobalProgram& program) {
  const Graph& graph = program.partitioned.graph;
  LayoutGroup group{.pattern = ".*",
                    .of_optimizer = true,
                    .shape = {std::numeric_limits<std::int32_t>::max()},
                    .bytes = 0,
                    .dims = {{}}};
  for (const Variable& variable : graph.variables) {
    if (!variable.slot_of.empty()) group.bytes += num_bytes(graph.type(variable.value));
  }
  return group;
}

/// The rules that lay groups out, without those that would replicate them.
SuggestedRules rules_of(const std::vector<LayoutGroup>& groups) {
  SuggestedRules rules;
  for (const LayoutGroup& group : groups) {
    const bool is_split = std::ranges::any_of(group.dims, [](const auto& d) { return !d.empty(); });
    if (!is_split) continue;
    (group.of_optimizer ? rules.optimizer_layout : rules.layout_map)
        .push_back({group.pattern, group.dims, {}});
  }
  return rules;
}

Job with_rules(const Job& job, const SuggestedRules& rules) {
  const auto joined = [](std::vector<config::LayoutRule> all,
                         const std::vector<config::LayoutRule>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  return with_layouts(job, joined(job.config.layout_map, rules.layout_map),
                      joined(job.config.optimizer_layout, rules.optimizer_layout));
}

/// What a device sends and computes, in bytes that it could send in that time.
double work_of(const CompileTrace& trace, const Plan& plan, const Job& job) {
  const double bytes = sent_for(transfers_of(trace.agreed, job.mesh)).bytes;
  const double calls = static_cast<double>(calls_of(plan) * job.target.small_message);
  return bytes + calls + operations_of(plan, 0).all() / job.target.flops_per_byte;
}

/// Of the first device, whose parts are the largest.
LayoutCost cost_of(Job job, const MemoryQuery& query) {
  CompileTrace trace;
  const GlobalProgram& program = program_for_checks(job, &trace);
  const Plan plan = compile_for_device(program, job.mesh, 0, query);
  return {work_of(trace, plan, job), static_cast<double>(memory_use(plan).bytes())};
}

LayoutSearch search_over(const Job& job) {
  LayoutSearch search;
  if (job.config.memory_limit) {
    search.memory_limit = static_cast<double>(job.config.memory_limit->bytes);
  }
  for (const auto& [name, size] : stated_axes(job.mesh)) {
    if (size == 1) continue;
    const auto& batch = job.config.batch_axis;
    const bool splits_batch = std::ranges::find(batch, name) != batch.end();
    (splits_batch ? search.more_axes : search.axes).push_back({name, size});
  }
  return search;
}

PlanReport report_of(Job job) {
  CompileTrace trace;
  program_for_checks(job, &trace);
  return report_plan(job, trace, false);
}

/// A step whose parts are computed again to meet memory_limit.
struct Recomputed {
  PlanReport report;
  double work = 0;
};

/// Nothing where the step does not fit even so.
std::optional<Recomputed> within_limit(const Job& job) {
  try {
    const double work = cost_of(job, memory_query(job)).work;
    Recomputed step{report_of(job), work};
    if (step.report.memory.use.bytes() > job.config.memory_limit->bytes) return {};
    return step;
  } catch (const Error&) {  // others than of memory_limit were thrown without it
    return {};
  }
}

/// Of a suggestion that does not fit: how it does.
void recompute_to_fit(Suggestion& suggestion, Job job) {
  job.config.max_replicated.reset();
  if (std::optional<Recomputed> step = within_limit(with_rules(job, {}))) {
    suggestion.rules = {};
    suggestion.before = suggestion.after = step->report;
    suggestion.work_before = suggestion.work_after = step->work;
    suggestion.fits = suggestion.recomputes = true;
  } else if (std::optional<Recomputed> split = within_limit(with_rules(job, suggestion.rules))) {
    suggestion.after = split->report;
    suggestion.work_after = split->work;
    suggestion.fits = suggestion.recomputes = true;
  }
}

}  // namespace

Suggestion suggest_layouts(const Job& given) {
  Job job = given;
  const LayoutSearch search = search_over(job);
  job.config.memory_limit.reset();  // which compiling would fail at, or meet by computing again
  job.config.max_replicated.reset();
  const MemoryQuery query = memory_query(job);
  const auto measure = [&](const std::vector<LayoutGroup>& groups) {
    return cost_of(with_rules(job, rules_of(groups)), query);
  };
  const GlobalProgram& program = program_for_checks(job);
  std::vector<LayoutGroup> groups = groups_of(program);
  if (job.config.optimizer_layout.empty()) groups.push_back(optimizer_group(program));
  job.programs.clear();
  const FoundLayouts found = search_layouts(std::move(groups), search, measure);
  Suggestion suggestion{.mesh = job.mesh,
                        .rules = rules_of(found.groups),
                        .before = report_of(with_rules(job, {})),
                        .after = {},
                        .tried = found.measured};
  suggestion.after = report_of(with_rules(job, suggestion.rules));
  suggestion.work_before = found.before.work;
  suggestion.work_after = found.cost.work;
  suggestion.fits = static_cast<double>(suggestion.after.memory.use.bytes()) <= search.memory_limit;
  if (!suggestion.fits) recompute_to_fit(suggestion, given);
  return suggestion;
}

}  // namespace meshwork

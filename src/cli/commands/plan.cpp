#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/meshes.h"
#include "cli/notes.h"
#include "cli/rank.h"
#include "cli/training_job.h"
#include "explain/plan_report.h"
#include "explain/variable_report.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork plan configs/resnet.yaml
      every collective of a training step, with the layer that asks for it and its bytes; the memory
      of a device and what fills it; its floating-point operations
  meshwork plan configs/resnet.yaml --mesh 4x2 --time
      also how long a step takes, as if each device had a machine like this one for itself: one
      device's share is computed here, and what it would send is divided by --link
  meshwork plan configs/keras_guide.yaml --meshes all
      a line for each way to arrange the devices along the axes of the mesh
  meshwork plan configs/gpt2.yaml --meshes 8x1,4x2,2x4 --time --link 25 --json

Needs the headers of the data, and no devices; with --time the memory of one. Of things that differ
in numbers alone, as those of repeated blocks do, one line tells; it has * for the number.)";

constexpr double kGigabyte = 1e9;

struct PlanArguments {
  std::shared_ptr<ConfigArguments> config;
  std::string meshes;
  std::optional<double> link;
  bool is_timed = false;
  bool json = false;
  bool ascii = false;
};

/// Of one mesh. Adds to the notes for the user.
MeshPlan plan_of(const ConfigArguments& words, bool is_timed, std::vector<std::string>& notes) {
  Job job = training_job(words, "plan");
  CompileTrace trace;
  program_for_checks(job, &trace);
  MeshPlan plan{job.mesh, report_plan(job, trace, is_timed)};
  for (const std::string& note : notes_of(job)) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
  }
  return plan;
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) fmt::print("\nnote: {}\n", note);
}

void print_plans(const PlanArguments& arguments, double link) {
  std::vector<MeshPlan> plans;
  std::vector<std::string> notes;
  for (const ConfigArguments& words : with_meshes(*arguments.config, arguments.meshes)) {
    plans.push_back(plan_of(words, arguments.is_timed, notes));
  }
  fmt::print("{}", arguments.json ? plans_json(plans, link) : plans_text(plans, link));
  if (!arguments.json) print_notes(notes);
}

void print_plan(const PlanArguments& arguments, double link) {
  std::vector<std::string> notes;
  const MeshPlan plan = plan_of(*arguments.config, arguments.is_timed, notes);
  if (arguments.json) {
    fmt::print("{}", plan_json(plan, link));
    return;
  }
  const Pen pen = pen_for(STDOUT_FILENO, ColourWish::kAuto, arguments.ascii);
  fmt::print("{}", plan_text(plan.report, plan.mesh, link, pen));
  print_notes(notes);
}

ExitCode run(const PlanArguments& arguments) {
  const double link = arguments.link.value_or(10) * kGigabyte;
  if (!(link > 0)) fail("--link must be more than 0 GB/s, not {}", *arguments.link);
  if (launched_rank() != 0) return ExitCode::kOk;
  arguments.meshes.empty() ? print_plan(arguments, link) : print_plans(arguments, link);
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<PlanArguments>();
  arguments->config = add_config_arguments(options);
  options.add(
      {"--meshes", "several meshes, a line for each: 8x1,4x2,2x4; or all that the devices make",
       "LIST"},
      arguments->meshes);
  options.add_flag("--time", "measure what a device computes, and tell how long a step takes",
                   arguments->is_timed);
  options.add({"--link", "what a device sends in a second; by default 10, of 10^9 bytes", "GB"},
              arguments->link);
  options.add_flag("--json", "the same as JSON", arguments->json);
  options.add_flag("--ascii", "draw with + - | only", arguments->ascii);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kPlan{
    .name = "plan",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "what a training step takes: collectives, memory, operations, and time",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

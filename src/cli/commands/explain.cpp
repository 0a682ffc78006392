#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/notes.h"
#include "cli/rank.h"
#include "explain/explain_text.h"
#include "explain/words.h"
#include "job/tuned_products.h"
#include "train/fit.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork explain configs/keras_guide.yaml
      the model as Keras's model.summary() prints it, with the layouts of outputs and weights, and
      how much memory training will take
  meshwork explain configs/keras_guide.yaml d1/kernel
      which device holds which part of a weight, the rule that says so, and what that sends
  meshwork explain configs/keras_guide.yaml d2/output --mesh 4x2
  meshwork explain configs/keras_guide.yaml d1/kernel/gradient
  meshwork explain configs/keras_guide.yaml input/output
  meshwork explain configs/keras_guide.yaml d1
      a layer, or a block: all of its variables, gradients, optimizer state, and its output

PATH is a path that 'meshwork paths --slots' lists, <layer>/output, <variable>/gradient, or a layer.
Needs no devices. Without the data it explains prediction instead of training.)";

struct ExplainArguments {
  std::shared_ptr<ConfigArguments> config;
  std::string colour = "auto";
  bool json = false;
  bool ascii = false;
};

/// Takes PATH out of what follows CONFIG: the word without '='; "" if there is none.
std::string take_path(std::vector<std::string>& words) {
  const auto is_path = [](const std::string& word) { return word.find('=') == std::string::npos; };
  const auto first = std::find_if(words.begin(), words.end(), is_path);
  if (first == words.end()) return "";
  std::string path = *first;
  words.erase(first);
  if (const auto second = std::find_if(words.begin(), words.end(), is_path);
      second != words.end()) {
    fail("command line: explain takes one PATH, not '{}' and '{}'; name a layer for all in it",
         path, *second);
  }
  return path;
}

ColourWish wish_of(const std::string& word) {
  if (word == "always") return ColourWish::kAlways;
  return word == "never" ? ColourWish::kNever : ColourWish::kAuto;
}

ExitCode run(const ExplainArguments& arguments) {
  ConfigArguments words = *arguments.config;
  const std::string path = take_path(words.overrides.assignments);
  const config::Config config = load(words);
  std::string missing;
  Job job = job_for_checks(config, launched_devices(), missing);
  const Mesh& mesh = job.mesh;
  CompileTrace trace;
  const GlobalProgram& program = program_for_checks(job, &trace);
  const Pen pen = pen_for(STDOUT_FILENO, wish_of(arguments.colour), arguments.ascii);
  std::string text;
  if (path.empty()) {
    ModelSummary summary = summarize(config, program, trace, mesh);
    summary.by_nccl = job.target.nccl;
    if (can_train(job)) {
      prepare_fit(job);
      summary.memory = planned_memory(job);
    }
    text = arguments.json ? summary_json(summary, mesh) : summary_text(summary, config, mesh, pen);
  } else {
    Explanation explanation = explain(trace, config, mesh, path);
    explanation.by_nccl = job.target.nccl;
    text = arguments.json ? explain_json(explanation, mesh)
                          : explain_text(explanation, config, mesh, pen);
  }
  if (launched_rank() != 0) return ExitCode::kOk;
  fmt::print("{}", text);
  if (arguments.json) return ExitCode::kOk;
  if (is_on_gpus(job)) {
    fmt::print("\ncollectives: {}\n", show_collectives(job.target.nccl));
    fmt::print("products: {}\n", show_products(0));
  }
  for (const std::string& note : notes_of(job)) fmt::print("\nnote: {}\n", note);
  if (!missing.empty()) {
    fmt::print("\nwithout data, hence without gradients and optimizer: {}\n", missing);
  }
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<ExplainArguments>();
  arguments->config = add_config_arguments(options);
  options.change_help("key=value",
                      "[PATH]: what to explain; and changes to CONFIG: fit.batch_size=64");
  options.add_flag("--json", "the same as JSON", arguments->json);
  options.add({.name = "--color",
               .help = "always, never, or auto: on a terminal, unless NO_COLOR is set",
               .value = "WHEN",
               .choices = {"auto", "always", "never"}},
              arguments->colour);
  options.add_flag("--ascii", "draw with + - | only", arguments->ascii);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kExplain{
    .name = "explain",
    .usage = "CONFIG [PATH] [key=value ...] [options]",
    .summary = "the model with its layouts, or who holds what of a tensor, why, and what it sends",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

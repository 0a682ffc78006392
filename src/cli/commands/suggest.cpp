#include <fmt/format.h>

#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/meshes.h"
#include "cli/rank.h"
#include "cli/training_job.h"
#include "explain/suggestion.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork suggest configs/bert.yaml --mesh 2x4 layout_map={}
      layouts for all weights, as lines of a layout map to be copied into the file
  meshwork suggest configs/gpt2.yaml --mesh 2x4 memory_limit=8GiB
      which fit into the memory of a device
  meshwork suggest configs/nanogpt_char.yaml --meshes all layout_map={}
      for each way to arrange the devices; the layout map for the one on which a step costs least
  meshwork suggest configs/my_model.yaml && meshwork plan configs/my_model.yaml --time

Compiles the training step under one layout after the other, from the largest weights to the
smallest, and keeps what makes it cheaper; those of repeated blocks are laid out alike. What a step
costs is what a device sends and computes, weighed as the compiler weighs them. Rules of the file
stay as they are. Where the step does not fit into memory_limit otherwise, the optimizer's state is
split (ZeRO), and weights along axes of the batch, too (FSDP). Where nothing fits, it says whether
parts of the step computed again do.

Needs the headers of the data, and no devices. Nothing is written.)";

struct SuggestArguments {
  std::shared_ptr<ConfigArguments> config;
  std::string meshes;
  bool json = false;
};

ExitCode run(const SuggestArguments& arguments) {
  if (launched_rank() != 0) return ExitCode::kOk;
  if (arguments.meshes.empty()) {
    const Suggestion suggestion = suggest_layouts(training_job(*arguments.config, "suggest"));
    fmt::print("{}", arguments.json ? suggestion_json(suggestion) : suggestion_text(suggestion));
    return ExitCode::kOk;
  }
  std::vector<Suggestion> suggestions;
  for (const ConfigArguments& words : with_meshes(*arguments.config, arguments.meshes)) {
    suggestions.push_back(suggest_layouts(training_job(words, "suggest")));
  }
  fmt::print("{}", arguments.json ? suggestions_json(suggestions) : suggestions_text(suggestions));
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<SuggestArguments>();
  arguments->config = add_config_arguments(options);
  add_meshes(options, arguments->meshes);
  options.add_flag("--json", "the same as JSON", arguments->json);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kSuggest{
    .name = "suggest",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "a layout map that makes a training step cheaper, found by the compiler",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

#include <algorithm>
#include <filesystem>

#include "cli/command.h"
#include "cli/config_arguments.h"
#include "cli/notes.h"
#include "cli/rank.h"
#include "config/weights_map.h"
#include "explain/variable_report.h"
#include "job/memory_report.h"
#include "train/fit.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork validate configs/keras_guide.yaml
      checks the file as it stands
  meshwork validate configs/keras_guide.yaml --mesh 4x2
      would it run on this mesh?
  meshwork validate configs/keras_guide.yaml model.layers.d1.units=300 \
      'layout_map."d2/kernel"=[model, null]'
      the changes that a sweep would make; quote what the shell would eat
  for f in configs/*.yaml; do meshwork validate "$f" || break; done

Needs no devices. The first mistake ends it with exit code 2 and a line such as
  meshwork: configs/mnist.yaml:14:7: layout_map: 'd1/kernel': the mesh (data=2, model=4) has no axis
  'modl'; nearest: 'model')";

/// Everything that can be known without devices: the file, names and arguments, the headers of the
/// data, shapes, layouts, and of every program that fit runs whether it keeps to memory_limit.
/// Throws Error at the first mistake. `missing` says which data is not there.
Job check(const ConfigArguments& arguments, std::string& missing) {
  Job job = job_for_checks(load(arguments), launched_devices(), missing);
  if (!job.config.weights_map.is_null()) {
    config::read_weights_map(job.config.weights_map, job.config.file);
  }
  if (!can_train(job)) {
    program_for_checks(job);
    return job;
  }
  prepare_fit(job);
  if (job.config.memory_limit) planned_memory(job);
  return job;
}

std::string plural(std::size_t count, const std::string& word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

/// Without the ends of blocks.
std::size_t num_layers(const config::ModelSpec& model) {
  return static_cast<std::size_t>(
      std::count_if(model.layers.begin(), model.layers.end(),
                    [](const config::LayerSpec& layer) { return !layer.layer.name.empty(); }));
}

std::string loss_of(const config::CompileSpec& compile) {
  return compile.loss ? compile.loss->name : "the losses of layers";
}

/// "mesh (data=2, model=4); model_parallel, 2 rules; 4 layers; dataset mnist; Adam; 3 epochs".
std::string summarize(const config::Config& config) {
  const bool model_parallel = config.strategy == config::Strategy::kModelParallel;
  std::string text = fmt::format("mesh {}; {}", config::to_string(config.mesh),
                                 model_parallel ? "model_parallel" : "data_parallel");
  if (model_parallel) text += ", " + plural(config.layout_map.size(), "layout rule");
  text += "; " + plural(num_layers(config.model), "layer");
  if (config.dataset.is_map()) {
    const config::Value::Entry* name = config.dataset.find("name");
    text += "; dataset " + (name != nullptr ? name->value.scalar : std::string("in place"));
  }
  if (config.compile) {
    text += fmt::format("; {}, {}", config.compile->optimizer.name, loss_of(*config.compile));
  }
  text += fmt::format("; {} of batches of {}",
                      plural(static_cast<std::size_t>(config.fit.epochs), "epoch"),
                      config.fit.batch_size);
  return text;
}

ExitCode validate(const ConfigArguments& arguments) {
  std::string missing;
  const Job job = check(arguments, missing);
  if (launched_rank() != 0) return ExitCode::kOk;
  fmt::print("{}: ok\n  {}\n", job.config.file, summarize(job.config));
  if (missing.empty()) {
    fmt::print("  {}\n", data::describe(job.split));
    if (job.validation) fmt::print("  {}\n", data::describe(*job.validation));
  }
  for (const std::string& note : notes_of(job)) fmt::print("  note: {}\n", note);
  if (!missing.empty()) fmt::print("  the data could not be checked: {}\n", missing);
  return ExitCode::kOk;
}

Run add(Options& options) {
  const auto arguments = add_config_arguments(options);
  return [arguments] { return validate(*arguments); };
}

}  // namespace

extern const Command kValidate{
    .name = "validate",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "check a configuration strictly, without devices",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

#include "train/predict.h"

#include <filesystem>
#include <iostream>

#include "cli/command.h"
#include "cli/job_arguments.h"
#include "cli/notes.h"
#include "state/run_directory.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"text(Examples:
  meshwork predict configs/fashion_mnist.yaml --from runs/fashion_mnist
      writes runs/fashion_mnist/predictions.npy: a row per test image, in the order of the data
  meshwork predict configs/fashion_mnist.yaml --from runs/fashion_mnist --split train --output p.npy
      a model of several outputs writes a file for each: predictions_digit.npy, ...
  python3 -c "import numpy; print(numpy.load('p.npy').argmax(1)[:10])")text";

struct PredictArguments {
  std::shared_ptr<WeightsArguments> weights;
  std::string output;
};

/// In the run directory that the weights lie in; of weights of no run, in that of the
/// configuration.
std::string default_file(const config::Config& config, const std::string& weights) {
  const std::string theirs = run_directory_of(weights);
  std::error_code status;
  const bool is_run = std::filesystem::exists(theirs + "/run.json", status);
  return (is_run ? theirs : config.run_directory) + "/predictions.npy";
}

ExitCode run(const PredictArguments& arguments) {
  Job job = load_job(*arguments.weights, "predict", make_prediction_job);
  const data::Split split = job.split;
  if (!arguments.weights->job->dump.empty()) {
    print_after_pass(job, ProgramKind::kPredict, split, arguments.weights->job->dump);
    return ExitCode::kOk;
  }
  const GivenWeights weights = weights_of(*arguments.weights);
  prepare_predict(job, split);
  if (arguments.weights->job->verbose > 0) print_notes(job);
  const std::string file =
      arguments.output.empty() ? default_file(job.config, weights.path) : arguments.output;
  const std::vector<PredictionFile> files = prediction_files(job, split, file);
  run_on_devices(job, [&](const World& world) {
    predict(job, world, weights, files, arguments.weights->job->verbose, std::cout);
    if (world.hosts->rank() != 0) return;
    for (const PredictionFile& entry : files) {
      fmt::print("wrote {}: float32{}\n", entry.file, to_string(entry.shape));
    }
  });
  print_pass_times(job);
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<PredictArguments>();
  arguments->weights = add_weights_arguments(options);
  options.add({"--output",
               "the file to write (one for each of several outputs: FILE_<output>); by default "
               "predictions.npy in the run directory that --from names, else in that of CONFIG",
               "FILE"},
              arguments->output);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kPredict{
    .name = "predict",
    .usage = "CONFIG [key=value ...] --from DIR [options]",
    .summary = "outputs of a trained model, to a .npy file",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

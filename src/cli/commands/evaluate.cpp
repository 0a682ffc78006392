#include "train/evaluate.h"

#include <iostream>

#include "cli/command.h"
#include "cli/job_arguments.h"
#include "cli/notes.h"
#include "cli/training_job.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork evaluate configs/fashion_mnist.yaml --from runs/fashion_mnist
      loss and metrics on the test images, or on what validation_split took off
  mpirun -n 8 meshwork evaluate configs/fashion_mnist.yaml --from runs/fashion_mnist --mesh 8x1
      weights can be read on any mesh
  meshwork evaluate configs/fashion_mnist.yaml --from runs/fashion_mnist --split train

The last line is for scripts, as that of fit.)";

ExitCode run(const WeightsArguments& arguments) {
  Job job = load_job(arguments, "evaluate", make_evaluation_job);
  require_compile(job, "it names loss and metrics");
  const data::Split split = job.split;
  if (!arguments.job->dump.empty()) {
    print_after_pass(job, ProgramKind::kEvaluate, split, arguments.job->dump);
    return ExitCode::kOk;
  }
  const GivenWeights weights = weights_of(arguments);
  prepare_evaluate(job, split);
  if (arguments.job->verbose > 0) print_notes(job);
  run_on_devices(job, [&](const World& world) {
    const FitResult result = evaluate(job, world, weights, arguments.job->verbose, std::cout);
    if (world.hosts->rank() == 0) fmt::print("{}\n", final_line(result.logs, result.digest));
  });
  print_pass_times(job);
  return ExitCode::kOk;
}

Run add(Options& options) {
  const auto arguments = add_weights_arguments(options);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kEvaluate{
    .name = "evaluate",
    .usage = "CONFIG [key=value ...] --from DIR [options]",
    .summary = "loss and metrics of trained weights",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

#include "train/fit.h"

#include <iostream>

#include "cli/command.h"
#include "cli/job_arguments.h"
#include "cli/notes.h"
#include "data/preparation.h"
#include "train/evaluate.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork fit configs/fashion_mnist.yaml
      the mesh of the file, on virtual devices: one thread each, in this process
  mpirun -n 4 meshwork fit configs/fashion_mnist.yaml
      the same mesh, a rank for each device; the same numbers
  meshwork fit configs/fashion_mnist.yaml --mesh 4x1 fit.epochs=1 run_directory=runs/dp4
  for m in 1x1 8x1 4x2 2x4; do meshwork fit configs/keras_guide.yaml --mesh $m | tail -n 1; done
  meshwork fit configs/keras_guide.yaml --dump collectives
      the program with every collective, instead of a run

Writes config.yaml, metrics.csv, memory.csv and final.safetensors to the run directory, and
steps.csv with fit.log_steps=true. The last line is for scripts: final loss=0.123456789
accuracy=0.9712 digest=9f3c24a1b7d0e855. The digest is one number over all weights; it depends
neither on the mesh nor on how the devices were started, as long as the sums are taken in the same
order.)";

struct FitArguments {
  std::shared_ptr<JobArguments> job;
  std::string from;
};

ExitCode run(const FitArguments& arguments) {
  Job job = load_job(*arguments.job, "fit");
  if (!job.config.compile) {
    fail("{}: no 'compile:' section; it names optimizer, loss and metrics", job.config.file);
  }
  if (!arguments.job->dump.empty()) {
    print_stage(job, ProgramKind::kTrain, job.train, arguments.job->dump);
    return ExitCode::kOk;
  }
  const auto preparation = data::prepare(job.train);  // while the programs are compiled
  FitOptions options{.verbose = arguments.job->verbose};
  if (!arguments.from.empty()) options.initial_weights = weights_file(arguments.from);
  prepare_fit(job);
  if (arguments.job->verbose > 0) print_notes(job);
  run_on_devices(job, [&](const World& world) {
    const FitResult result = fit(job, world, options, std::cout);
    if (world.hosts->rank() == 0) fmt::print("{}\n", final_line(result.logs, result.digest));
  });
  print_pass_times(job);
  return ExitCode::kOk;
}

Run add(Options& options) {
  auto arguments = std::make_shared<FitArguments>();
  arguments->job = add_job_arguments(options);
  options.add(
      {"--from", "start from the final weights of another run: its directory or .safetensors file",
       "DIR"},
      arguments->from);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kFit{
    .name = "fit",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "train; writes weights, logs, a progress bar",
    .details = kDetails,
    .add = add,
};

}  // namespace meshwork::cli

#include "train/fit.h"

#include <atomic>
#include <iostream>

#include "base/terminal.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/job_arguments.h"
#include "cli/notes.h"
#include "cli/rank.h"
#include "cli/training_job.h"
#include "data/odd_labels.h"
#include "data/preparation.h"
#include "machine/signals.h"
#include "train/evaluate.h"

namespace meshwork::cli {
namespace {

constexpr const char* kDetails = R"(Examples:
  meshwork fit configs/fashion_mnist.yaml
      the mesh of the file, on virtual devices: one thread each, in this process
  mpirun -n 4 meshwork fit configs/fashion_mnist.yaml --new
      the same mesh, a rank for each device; the same numbers
  meshwork fit configs/fashion_mnist.yaml --resume --mesh 4x1 fit.epochs=6
      three more epochs, on another mesh
  meshwork fit configs/fashion_mnist.yaml --mesh 4x1 fit.epochs=1 run_directory=runs/dp4
  for m in 1x1 8x1 4x2 2x4; do
    meshwork fit configs/keras_guide.yaml --new --mesh $m | tail -n 1
  done
  meshwork fit configs/vit.yaml --from runs/pretrained --skip-mismatch 'logits/.*'
      the weights of another run, but for the last layer, which has other classes here
  meshwork fit configs/keras_guide.yaml --new --trace trace.json
      when each device computed, sent and waited in ten steps: open it in https://ui.perfetto.dev
  meshwork fit configs/keras_guide.yaml --dump collectives
      the program with every collective, instead of a run

Writes config.yaml, run.json, metrics.csv, memory.csv, checkpoints and final.safetensors to the run
directory, and steps.csv with fit.log_steps=true. SIGTERM, SIGUSR1, SIGHUP and Ctrl-C write a
checkpoint behind the step under way and end the run with exit code 75; with 3, or 1 where
checkpoints are switched off, if there is none to go on from.

The last line is for scripts: final loss=0.123456789 accuracy=0.9712 digest=9f3c24a1b7d0e855; with
--json it is the only one, and what run.json says: times, memory and how the run ended. The digest
is one number over the bits of all weights, however they are laid out. Threads and ranks on one mesh
give the same digest. Training on another mesh adds in another order, so it ends with another.)";

struct FitArguments {
  std::shared_ptr<JobArguments> job;
  std::string from;
  std::string skip_mismatch;
  std::string trace;
  std::optional<std::int64_t> trace_steps;
  bool weights_only = false;
  bool resume = false;
  bool overwrite = false;
  bool takes_new = false;
  bool json = false;
};

/// What the user has typed, with the launcher.
std::string command_of(const FitArguments& arguments) {
  std::vector<std::string> options;
  if (!arguments.from.empty()) options.insert(options.end(), {"--from", arguments.from});
  if (!arguments.skip_mismatch.empty()) {
    options.insert(options.end(), {"--skip-mismatch", arguments.skip_mismatch});
  }
  if (!arguments.trace.empty()) options.insert(options.end(), {"--trace", arguments.trace});
  if (arguments.trace_steps) {
    options.insert(options.end(), {"--trace-steps", std::to_string(*arguments.trace_steps)});
  }
  const std::pair<bool, const char*> flags[] = {{arguments.weights_only, "--weights-only"},
                                                {arguments.resume, "--resume"},
                                                {arguments.overwrite, "--overwrite"},
                                                {arguments.takes_new, "--new"}};
  for (const auto& [given, flag] : flags) {
    if (given) options.emplace_back(flag);
  }
  const std::string launcher =
      launched_devices() > 0 ? fmt::format("mpirun -n {} ", launched_devices()) : "";
  return launcher + command_line("fit", *arguments.job->config, options);
}

Rerun rerun_of(const FitArguments& arguments, const config::Config& config) {
  if (arguments.resume + arguments.overwrite + arguments.takes_new > 1) {
    fail("--resume, --overwrite and --new exclude each other; give one of them");
  }
  if (arguments.resume && !arguments.from.empty()) {
    fail(
        "--resume goes on from a checkpoint of the run, --from begins a new one; give one of them");
  }
  if (arguments.resume) return Rerun::kResume;
  if (arguments.overwrite) return Rerun::kOverwrite;
  if (arguments.takes_new) return Rerun::kNew;
  return config.checkpoint.resume ? Rerun::kResumeIfAny : Rerun::kRefuse;
}

std::optional<config::PathPattern> skip_mismatch_of(const FitArguments& arguments) {
  const std::string& text = arguments.skip_mismatch;
  if (text.empty()) return std::nullopt;
  if (arguments.from.empty()) fail("--skip-mismatch is about what --from names; give both");
  return config::PathPattern(text, {"command line", 0, 0}, "--skip-mismatch");
}

TraceOptions trace_of(const FitArguments& arguments, const Job& job) {
  TraceOptions trace{.file = arguments.trace};
  if (trace.file.empty()) {
    if (arguments.trace_steps) fail("--trace-steps is about what --trace records; give both");
    return trace;
  }
  check_trace(job);
  trace.steps = arguments.trace_steps.value_or(trace.steps);
  return trace;
}

/// Data that are sorted by their labels are no data to take the last samples of.
void note_odd_labels(const Job& job) {
  if (launched_rank() > 0 || job.config.fit.validation_split <= 0 || !job.validation) return;
  const auto odd = data::odd_labels(job.split, *job.validation);
  if (!odd) return;
  say(
      fmt::format("note: validation_split takes the last {} samples, and {}: are the data sorted "
                  "by their labels? Mix them beforehand, or give a split 'validation' of its own",
                  job.validation->samples, *odd));
}

ExitCode run(const FitArguments& arguments) {
  Job job = load_job(*arguments.job, "fit");
  require_compile(job, "it names optimizer, loss and metrics");
  if (!arguments.job->dump.empty()) {
    print_after_pass(job, ProgramKind::kTrain, job.split, arguments.job->dump);
    return ExitCode::kOk;
  }
  const auto preparation = data::prepare(job.split);  // while the programs are compiled
  FitOptions options{.verbose = arguments.json ? 0 : arguments.job->verbose,
                     .weights_only = arguments.weights_only,
                     .rerun = rerun_of(arguments, job.config),
                     .command = command_of(arguments)};
  if (arguments.json) {
    options.on_record = [](const std::string& line) { std::cout << line + "\n" << std::flush; };
  }
  if (!arguments.from.empty()) {
    options.from = weights_file(arguments.from);
  } else if (arguments.weights_only) {
    fail("--weights-only is about what --from names; give both");
  }
  options.skip_mismatch = skip_mismatch_of(arguments);
  options.trace = trace_of(arguments, job);
  prepare_fit(job);
  if (options.verbose > 0) {
    print_notes(job);
    note_odd_labels(job);
  }
  std::atomic<ExitCode> code = ExitCode::kOk;
  StopSignals signals;
  run_on_devices(job, [&](const World& world) {
    const FitResult result = fit(job, world, options, arguments.json ? std::cerr : std::cout);
    if (!result.stopped.empty()) code = ExitCode::kStopped;
    if (world.hosts->rank() != 0) return;
    if (!arguments.json && result.stopped.empty()) {
      std::cout << final_line(result.logs, result.digest) + "\n";
    }
    if (!result.stopped.empty()) say(result.stopped);
  });
  print_pass_times(job);
  if (code == ExitCode::kStopped) signals.ignore_rest();
  // Of a run that was stopped the exit code says more: it can go on.
  if (arguments.json && code == ExitCode::kOk) flush_result();
  return code;
}

Run add(Options& options) {
  auto arguments = std::make_shared<FitArguments>();
  arguments->job = add_job_arguments(options);
  options.add(
      {"--from,--weights",
       "start from another run: its directory, a checkpoint (with the optimizer's state), or a "
       ".weights.h5, .keras, .npz or .safetensors file",
       "DIR"},
      arguments->from);
  options.add(
      {"--skip-mismatch",
       "variables of these paths begin anew where --from has none, or others: a new head", "REGEX"},
      arguments->skip_mismatch);
  options.add_flag("--weights-only", "of a checkpoint named by --from, take the weights alone",
                   arguments->weights_only);
  options.add_flag("--resume", "go on from the newest checkpoint in the run directory, on any mesh",
                   arguments->resume);
  options.add_flag("--overwrite", "remove what a run has left in the run directory",
                   arguments->overwrite);
  options.add_flag("--new",
                   "take the next free name, such as runs/keras_guide-2, for the run directory",
                   arguments->takes_new);
  options.add(
      {"--trace",
       "write when each device computes, sends and waits in some steps behind the third, as "
       "a Chrome trace: for Perfetto and chrome://tracing",
       "FILE"},
      arguments->trace);
  options.add({"--trace-steps", "how many steps --trace records; by default 10", "N"},
              arguments->trace_steps, 1, kMostTracedSteps);
  options.add_flag("--json", "print nothing but what run.json says, on one line", arguments->json);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command kFit{
    .name = "fit",
    .usage = "CONFIG [key=value ...] [options]",
    .summary = "train; writes checkpoints, weights, logs, a progress bar",
    .details = kDetails,
    .add = add,
    .prints_progress = true,
};

}  // namespace meshwork::cli

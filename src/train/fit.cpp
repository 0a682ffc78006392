#include "train/fit.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/error.h"
#include "comm/collectively.h"
#include "job/memory_report.h"
#include "machine/signals.h"
#include "optim/optimizer.h"
#include "train/evaluate.h"
#include "train/position.h"
#include "train/trainer.h"
#include "train/watchdog.h"

namespace meshwork {

void prepare_fit(Job& job) {
  check_callbacks(job.config);
  check_best(job.config);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.train);
  if (job.validation) add_programs(job, ProgramKind::kEvaluate, validation_part(job));
  if (averages_weights(job.config.compile->optimizer)) {
    add_program(job, ProgramKind::kAverage, 0);
  }
}

namespace {

/// Gives the variables the values that training starts from.
Start begin(Session& session, const RunDirectory& directory, const FitOptions& options,
            std::optional<Checkpoint>& checkpoint) {
  const bool resumes = !directory.newest_checkpoint().empty();
  std::error_code status;
  if (resumes) {
    collectively(session.hosts(), [&] { checkpoint.emplace(directory.newest_checkpoint()); });
    session.load_variables(*checkpoint);
    return {.resumed = &*checkpoint};
  }
  session.initialize();
  if (options.from.empty()) return {};
  if (options.weights_only || !std::filesystem::is_directory(options.from, status)) {
    session.load_weights(options.from);
    return {};
  }
  collectively(session.hosts(), [&] { checkpoint.emplace(options.from); });
  session.load_variables(*checkpoint);
  return {.iteration = position_of(*checkpoint).iteration};
}

std::string describe_stop(int signal, const RunDirectory& directory) {
  const std::vector<std::string> checkpoints = list_checkpoints(directory.checkpoints());
  if (checkpoints.empty()) {
    return fmt::format("stopped by {}; there is no checkpoint to go on from", signal_name(signal));
  }
  return fmt::format("stopped by {}; the same command with --resume goes on from {}",
                     signal_name(signal), checkpoints.back());
}

}  // namespace

FitResult fit(const Job& job, const World& world, const FitOptions& options, std::ostream& out) {
  check_same_programs(job, *world.hosts);
  const RunDirectory directory(job.config.run_directory, options.rerun, *world.hosts);
  Session session(job, world);
  std::optional<Checkpoint> checkpoint;
  const Start start = begin(session, directory, options, checkpoint);
  const Watchdog watchdog(session, job.config.stall_timeout, directory.path());
  const std::string weights = directory.path() + "/" + kFinalWeights;
  const TrainerResult trained = Trainer(session, directory, start, options.verbose, out).run();
  if (trained.signal != 0) return {trained.logs, 0, describe_stop(trained.signal, directory)};
  if (trained.is_usable) session.save_weights(weights);
  if (!trained.failure.empty()) {
    // The first device has shown everything before another one ends the run.
    session.hosts().barrier();
    const std::string saved = "; the weights of the best epoch are in " + weights;
    fail(ExitCode::kTraining, "{}{}", trained.failure, trained.is_usable ? saved : "");
  }
  write_memory_report(session, directory.path() + "/memory.csv");
  return {trained.logs, session.weights_digest()};
}

std::string final_line(const Logs& logs, std::uint64_t digest) {
  std::string line = "final";
  const auto add = [&](const std::string& name, double value) {
    line += fmt::format(" {}={:.9g}", name, without_nan_sign(value));
  };
  if (const auto loss = logs.find("loss"); loss != logs.end()) add(loss->first, loss->second);
  for (const auto& [name, value] : logs) {
    if (name != "loss") add(name, value);
  }
  return line + fmt::format(" digest={:016x}", digest);
}

}  // namespace meshwork

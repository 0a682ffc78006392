#include "train/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/join.h"
#include "base/names.h"
#include "base/terminal.h"
#include "comm/collectively.h"
#include "job/meaning.h"
#include "job/memory_report.h"
#include "job/run_vocabulary.h"
#include "job/same_job.h"
#include "machine/signals.h"
#include "optim/optimizer.h"
#include "train/adapt.h"
#include "train/evaluate.h"
#include "train/load_start.h"
#include "train/run_files.h"
#include "train/run_record.h"
#include "train/same_training.h"
#include "train/trainer.h"
#include "train/watchdog.h"

namespace meshwork {

void prepare_fit(Job& job) {
  check_callbacks(job.config);
  check_best(job.config);
  check_log_formats(job.config.fit);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.split);
  add_reduction(job);
  if (job.validation) add_programs(job, ProgramKind::kEvaluate, validation_part(job));
  if (averages_weights(job.config.compile->optimizer)) {
    add_program(job, ProgramKind::kAverage, 0);
  }
  job.split = job.splits.at(ProgramKind::kTrain);
  if (job.validation) job.validation->fields = job.splits.at(ProgramKind::kEvaluate).fields;
}

namespace {

/// Weights of which training goes on must have been trained on numbers that stand for the same;
/// other weights (--from) are for other classes and columns, too, but not for other tokens. A run
/// that goes on is the same model, too: the result is what to tell of it.
std::vector<std::string> check_what_goes_on(const Job& job, const RunDirectory& directory,
                                            const FitOptions& options) {
  const std::string& newest = directory.newest_checkpoint();
  if (newest.empty()) {
    if (!options.from.empty()) check_same_vocabulary(job, options.from);
    return {};
  }
  check_same_meaning(job, newest);
  return check_same_training(Checkpoint(newest), job);
}

/// Reads weights, but for those that the file need not have, and says which these are.
void load_matching(Session& session, const std::string& from, const config::PathPattern& skipped) {
  std::vector<std::string> paths;
  for (const GlobalTensor& weight : session.weights()) paths.push_back(weight.path);
  const auto is_skipped = [&](const std::string& path) { return skipped.matches(path); };
  if (std::ranges::none_of(paths, is_skipped)) skipped.fail_unmatched(paths, "no variable");
  std::vector<std::string> kept = session.load_weights(from, is_skipped);
  if (!session.is_first()) return;
  for (std::string& path : kept) path = fmt::format("'{}'", path);
  say(kept.empty()
          ? fmt::format("note: --skip-mismatch: {} has all variables of the model", from)
          : fmt::format("note: --skip-mismatch: {} begin anew: {} has none of their shapes",
                        join(kept, ", "), from));
}

/// Gives the variables the values that training starts from.
Start begin(Session& session, const RunDirectory& directory, const FitOptions& options,
            std::optional<Checkpoint>& checkpoint) {
  const bool resumes = !directory.newest_checkpoint().empty();
  if (resumes) {
    collectively(session.hosts(), [&] { checkpoint.emplace(directory.newest_checkpoint()); });
    load_checkpoint(
        session, *checkpoint,
        fmt::format("a run goes on with the state of its optimizer: leave the optimizer and the "
                    "precision as they were, or begin a new run with --new --from {} "
                    "--weights-only",
                    checkpoint->directory()));
    return {.resumed = &*checkpoint};
  }
  session.initialize();
  if (options.from.empty()) return {.notes = adapt_to_data(session)};
  if (options.skip_mismatch) {
    std::vector<std::string> notes = adapt_to_data(session);
    load_matching(session, options.from, *options.skip_mismatch);
    return {.notes = std::move(notes)};
  }
  if (options.weights_only) {
    session.load_weights(options.from);
    return {};
  }
  const LoadedStart loaded = load_start(session, options.from);
  Start start{.iteration = loaded.iteration};
  if (!loaded.note.empty()) start.notes.push_back(loaded.note);
  return start;
}

/// How a run goes on that was stopped, as the first device sees it.
std::string describe_way_on(const TrainerResult& trained, const RunDirectory& directory) {
  if (!trained.elsewhere.empty()) {
    return fmt::format("the newest checkpoint is {}: give it to --from, or copy it to {}",
                       trained.elsewhere, directory.checkpoints());
  }
  if (trained.newest.empty()) return "there is no checkpoint to go on from";
  if (!directory.is_held()) {
    return fmt::format("the newest checkpoint is {} in the run directory, wherever that is now",
                       std::filesystem::path(trained.newest).filename().string());
  }
  return fmt::format("the same command with --resume goes on from {}", trained.newest);
}

/// The same for all devices, which all call it.
std::string shared_way_on(const TrainerResult& trained, const RunDirectory& directory,
                          HostGroup& hosts) {
  std::string text = describe_way_on(trained, directory);
  broadcast_text(hosts, text, 0);
  return text;
}

/// What to say of a run that a signal has ended behind a checkpoint; an Error where there is none:
/// whoever starts it again would begin at the same step each time.
std::string describe_stop(const TrainerResult& trained, const Session& session,
                          const RunDirectory& directory) {
  const std::string stopped = "stopped by " + signal_name(trained.signal);
  const std::string way_on = shared_way_on(trained, directory, session.hosts());
  const bool is_off = !session.job().config.checkpoint.wanted;
  if (!is_off && trained.unsaved.empty()) return fmt::format("{}; {}", stopped, way_on);
  const std::int64_t lost = trained.steps - trained.saved;
  const std::string why = is_off
                              ? "checkpoints are switched off"
                              : fmt::format("no checkpoint after step {} in {}: {}", trained.steps,
                                            directory.checkpoints(), trained.unsaved);
  fail(is_off ? ExitCode::kTraining : ExitCode::kFile, "{}; {}: {} lost; {}", stopped, why,
       lost == 1 ? "1 step is" : fmt::format("{} steps are", lost), way_on);
}

/// Writes the final weights; to the second place where the run directory does not take them, which
/// is then the Error that the run ends with.
void save_weights(const Session& session, const RunDirectory& directory,
                  const TrainerResult& trained) {
  try {
    collectively(session.hosts(), [&] { directory.check_held(); });
    session.save_weights(directory.path() + "/" + kFinalWeights);
  } catch (const Error& error) {
    if (error.code() != ExitCode::kFile) throw;
    const std::string way_on = shared_way_on(trained, directory, session.hosts());
    const std::string fallback = fallback_of(session.job().config, directory, session.hosts());
    if (fallback.empty()) {
      fail(error.code(), "{}; {} for a second place; {}", error.what(), kSecondPlace, way_on);
    }
    const std::string other = fallback + "/" + kFinalWeights;
    try {
      collectively(session.hosts(), [&] {
        if (session.is_first()) create_parent_directory(other);
      });
      session.save_weights(other);
    } catch (const Error& second) {
      if (second.code() != ExitCode::kFile) throw;
      fail(error.code(), "{}; nor in {}: {}; {}", error.what(), fallback, second.what(), way_on);
    }
    fail(ExitCode::kFile, "{}; the final weights are in {}", error.what(), other);
  }
}

/// One run in its directory. `record` is that of the first device, else null.
FitResult train(Session& session, const RunDirectory& directory, const FitOptions& options,
                const std::vector<std::string>& notes, RunRecord* record, std::ostream& out) {
  std::optional<Checkpoint> checkpoint;
  Start start = begin(session, directory, options, checkpoint);
  start.notes.insert(start.notes.end(), notes.begin(), notes.end());
  start.trace = options.trace;
  if (record != nullptr) {
    start.on_begin = [&] {
      record->begin();
      write_meaning(session.job(), directory.path());
    };
  }
  const TrainerResult trained = Trainer(session, directory, start, options.verbose, out).run();
  if (record != nullptr) record->add(trained);
  FitResult result{.logs = trained.logs};
  if (trained.signal != 0) {
    result.stopped = describe_stop(trained, session, directory);
    if (record != nullptr) record->stop(result.stopped);
    return result;
  }
  if (trained.is_usable) save_weights(session, directory, trained);
  if (!trained.failure.empty()) {
    // The first device has shown everything before another one ends the run.
    session.hosts().barrier();
    const std::string saved = fmt::format("; the weights of the best epoch are in {}/{}",
                                          directory.path(), kFinalWeights);
    fail(ExitCode::kTraining, "{}{}", trained.failure, trained.is_usable ? saved : "");
  }
  const std::vector<DeviceMemory> memory = memory_of_all(session);
  result.digest = session.weights_digest();
  if (record == nullptr) return result;
  try {
    directory.check_held();
    write_memory_report(memory, directory.path() + "/" + kMemoryFile);
  } catch (const Error& error) {
    say(fmt::format("warning: {}", error.what()));
  }
  record->add(memory);
  record->complete(result.digest);
  return result;
}

/// What of the options decides on the calls that devices make. Files may have other names on other
/// machines: what is in them is compared.
std::string describe(const FitOptions& options) {
  std::string text;
  if (!options.from.empty()) text += "--from\n";
  if (options.weights_only) text += "--weights-only\n";
  if (options.skip_mismatch) {
    text += fmt::format("--skip-mismatch '{}'\n", options.skip_mismatch->text());
  }
  if (!options.trace.file.empty()) {
    text += fmt::format("--trace of {} steps\n", options.trace.steps);
  }
  return text;
}

/// Throws an Error where the run would write its own configuration over the file that it was given,
/// which no run has written.
void check_not_overwritten(const std::string& config, const std::string& run_directory) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (fs::exists(run_directory + "/" + kRecordFile, code)) return;
  if (!fs::equivalent(config, run_directory + "/" + kConfigFile, code)) return;
  fail(
      "{}: a run writes its own config.yaml to its directory, over this one; set run_directory to "
      "another folder, or give this file another name",
      config);
}

}  // namespace

FitResult fit(const Job& job, const World& world, const FitOptions& options, std::ostream& out) {
  check_same_job(job, *world.hosts, describe(options));
  const RunDirectory directory(job.config.run_directory, options.rerun, *world.hosts, run_files());
  collectively(*world.hosts, [&] {
    if (world.hosts->rank() == 0) check_not_overwritten(job.config.file, directory.path());
  });
  if (!options.trace.file.empty()) check_trace_file(options.trace.file, *world.hosts);
  std::optional<RunRecord> record;
  std::vector<std::string> notes;
  try {
    Session session = watched_session(job, world, directory.path());
    const Watchdog watchdog(session, directory.path());
    collectively(session.hosts(), [&] {
      if (!session.is_first()) return;
      notes = check_what_goes_on(job, directory, options);
      record.emplace(job, directory, options.command);
    });
    FitResult result = session.with_place_of_failure([&] {
      return train(session, directory, options, notes, record ? &*record : nullptr, out);
    });
    if (record && options.on_record) options.on_record(record->line());
    return result;
  } catch (const Error& error) {
    if (record) record->fail(error.code(), error.what());
    if (record && options.on_record) options.on_record(record->line());
    throw;
  }
}

std::string final_line(const Logs& logs, std::uint64_t digest) {
  std::string line = "final";
  const auto add = [&](const std::string& name, double value) {
    line += fmt::format(" {}={:.9g}", name, without_nan_sign(value));
  };
  if (const auto loss = logs.find(names::kLoss); loss != logs.end()) add(loss->first, loss->second);
  for (const auto& [name, value] : logs) {
    if (name != names::kLoss) add(name, value);
  }
  return line + fmt::format(" digest={:016x}", digest);
}

}  // namespace meshwork

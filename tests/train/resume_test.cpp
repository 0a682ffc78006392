// Whole runs that are cut off and go on: to the same bits, on any mesh.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>

#include "cut_off.h"
#include "machine/signals.h"
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;
namespace fs = std::filesystem;

namespace {

constexpr const char* kAdam = "{Adam: {learning_rate: 0.05}}";

/// A run with all that has a state, which writes a checkpoint after every step.
std::string text_with_callbacks(const std::string& checkpoint = "{every: 1 step, keep: 100}") {
  return text_of(kAdam,
                 "batch_size: 8, epochs: 5, validation: true, log_steps: true, callbacks: ["
                 "EarlyStopping: {patience: 2, restore_best_weights: true}, "
                 "ReduceLROnPlateau: {factor: 0.5, patience: 1}, "
                 "ModelCheckpoint: {filepath: best.safetensors, save_best_only: true}, "
                 "ModelCheckpoint: {filepath: 'b{epoch}-{batch}.safetensors', save_freq: 4}, "
                 "CSVLogger: {filename: log.csv}]") +
         "checkpoint: " + checkpoint + "\n";
}

std::set<std::string> names_in(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("a run that is cut off after any step goes on to the same bits") {
  const TempDirectory directory;
  const std::string full = directory.file("full"), cut = directory.file("cut");
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const Outcome whole = fit_on(text_with_callbacks(), mesh, full);
    REQUIRE(whole.error == "");
    const std::size_t count = checkpoints_in(full).size();
    REQUIRE(count > 12);
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      cut_off(full, cut, i);
      const Outcome outcome = resume(text_with_callbacks(), mesh, cut);
      CHECK(outcome.error == "");
      CHECK(outcome.result.digest == whole.result.digest);
      CHECK(outcome.result.logs == whole.result.logs);
      for (const char* file :
           {"metrics.csv", "steps.csv", "log.csv", "final.safetensors", "best.safetensors"}) {
        CAPTURE(file);
        CHECK(read_log(full + "/" + file) == read_log(cut + "/" + file));
      }
      CHECK(names_in(full) == names_in(cut));
    }
  }
}

TEST_CASE("a run goes on on any mesh") {
  const TempDirectory directory;
  const std::string full = directory.file("full"), cut = directory.file("cut");
  REQUIRE(fit_on(text_with_callbacks(), "2x2", full).error == "");
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    for (const std::size_t i : {std::size_t{1}, std::size_t{7}}) {
      cut_off(full, cut, i);
      CHECK(resume(text_with_callbacks(), mesh, cut).error == "");
      for (const char* file : {"metrics.csv", "steps.csv", "log.csv"}) {
        check_same_table(read_log(full + "/" + file), read_log(cut + "/" + file));
      }
      CHECK(difference(weights_in(full + "/final.safetensors"),
                       weights_in(cut + "/final.safetensors")) < 1e-5);
    }
  }
}

TEST_CASE("a run that is done goes on for more epochs, or not at all") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const auto text = [](int epochs) {
    return text_of(
        "{SGD: {learning_rate: {ExponentialDecay: {initial_learning_rate: 0.1, "
        "decay_steps: 2, decay_rate: 0.7}}, momentum: 0.9}}",
        fmt::format("batch_size: 8, epochs: {}, steps_per_epoch: 2", epochs));
  };
  const Outcome two = fit_on(text(2), "2x2", run);
  const Outcome again = resume(text(2), "2x2", run);
  CHECK(again.result.digest == two.result.digest);
  CHECK(again.result.logs == two.result.logs);
  const Outcome four = fit_on(text(4), "2x2", directory.file("four"));
  CHECK(resume(text(4), "2x2", run).result.digest == four.result.digest);
  CHECK(read_log(run + "/metrics.csv") == read_log(directory.file("four/metrics.csv")));
}

TEST_CASE("averages, accumulated gradients and scales of losses go on, too") {
  const TempDirectory directory;
  const std::string full = directory.file("full"), cut = directory.file("cut");
  const std::string ema = "{Adam: {learning_rate: 0.05, use_ema: true, ema_momentum: 0.7}}";
  const std::string sums = "{Adam: {learning_rate: 0.05, gradient_accumulation_steps: 2}}";
  const std::string scaled = fmt::format(
      "{{LossScaleOptimizer: {{inner_optimizer: {}, initial_scale: 3.0e+38, dynamic_growth_steps: "
      "2}}}}",
      sums);
  for (const std::string& optimizer : {ema, sums, scaled}) {
    const std::string swap =
        optimizer == ema ? ", validation: true, callbacks: [SwapEMAWeights: {swap_on_epoch: true}]"
                         : "";
    const std::string text = text_of(optimizer, "batch_size: 8, epochs: 3" + swap) +
                             "checkpoint: {every: 1 step, keep: 100, async: false}\n";
    const Outcome whole = fit_on(text, "2x2", full);
    REQUIRE(whole.error == "");
    for (std::size_t i = 0; i < checkpoints_in(full).size(); ++i) {
      cut_off(full, cut, i);
      CHECK(resume(text, "2x2", cut).result.digest == whole.result.digest);
    }
  }
}

TEST_CASE("sums of gradients that devices keep apart go on on any mesh") {
  const TempDirectory directory;
  const std::string full = directory.file("full"), cut = directory.file("cut");
  const std::string text = text_of("{SGD: {learning_rate: 0.05, gradient_accumulation_steps: 5}}",
                                   "batch_size: 8, epochs: 4") +
                           "checkpoint: {every: 1 step, keep: 100}\n";
  REQUIRE(fit_on(text, "2x2", full).error == "");
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    cut_off(full, cut, 7);
    CHECK(resume(text, mesh, cut).error == "");
    CHECK(difference(weights_in(full + "/final.safetensors"),
                     weights_in(cut + "/final.safetensors")) < 1e-5);
  }
}

TEST_CASE("a signal ends a run behind a checkpoint, from which it goes on") {
  const TempDirectory directory;
  const std::string text = text_with_callbacks("{every: 1 epoch}");
  const Outcome whole = fit_on(text, "2x2", directory.file("whole"));
  const std::string run = directory.file("run");
  for (const int signal : {SIGTERM, SIGUSR1, SIGHUP, SIGINT}) {
    std::signal(signal, SIG_DFL);  // which nohup and others set otherwise
    Outcome stopped;
    {
      const StopSignals signals;
      CHECK(noted_signal() == 0);
      raise(signal);
      stopped = fit_on(text, "2x2", run);
    }
    const std::vector<std::string> left = checkpoints_in(run);
    REQUIRE(left.size() == 1);
    CHECK(stopped.result.stopped == "stopped by " + signal_name(signal) +
                                        "; the same command with --resume goes on from " + left[0]);
    CHECK_FALSE(fs::exists(run + "/final.safetensors"));
    CHECK(resume(text, "2x2", run).result.digest == whole.result.digest);
    CHECK(read_log(run + "/steps.csv") == read_log(directory.file("whole/steps.csv")));
  }
}

/// Samples of another source, of which each read takes a millisecond. After so many it raises a
/// signal.
class SlowSource final : public data::Source {
 public:
  SlowSource(std::shared_ptr<const data::Source> inner, int reads, int signal)
      : Source(inner->info()), inner_(std::move(inner)), reads_(reads), signal_(signal) {}

 protected:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (--reads_ == 0) raise(signal_);
    inner_->read(begin, count, out);
  }

 private:
  std::shared_ptr<const data::Source> inner_;
  mutable std::atomic<int> reads_;  ///< left until then
  int signal_;
};

TEST_CASE("a signal during validation ends a run behind a checkpoint of the epoch's steps") {
  const TempDirectory directory;
  std::string text = text_of(kAdam,
                             "batch_size: 8, epochs: 2, validation: true, "
                             "validation_batch_size: 1, log_steps: true");
  for (const std::string few : {"[9, 6]", "[9, 3]"}) {
    text.replace(text.find(few), few.size(), "[600" + few.substr(2));
  }
  for (const std::string mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const auto job = [&](const std::string& name) {
      return meshwork::testing::job_of(text + "run_directory: " + directory.file(name) + "\n",
                                       mesh);
    };
    const Outcome whole = fit_job(job("whole"));
    Job slow = job("run");
    data::Field& x = slow.validation->fields.front();
    x.source = std::make_shared<SlowSource>(x.source, 200, SIGTERM);
    Outcome stopped;
    {
      const StopSignals signals;
      stopped = fit_job(slow);
    }
    const std::string run = directory.file("run");
    REQUIRE(checkpoints_in(run) == std::vector<std::string>{run + "/checkpoints/step-3"});
    CHECK(stopped.result.stopped ==
          "stopped by SIGTERM; the same command with --resume goes on "
          "from " +
              run + "/checkpoints/step-3");
    CHECK(read_log(run + "/metrics.csv").find('\n') == read_log(run + "/metrics.csv").rfind('\n'));
    const Outcome resumed = fit_job(job("run"), 0, {.rerun = Rerun::kResume});
    CHECK(resumed.error == "");
    CHECK(resumed.result.digest == whole.result.digest);
    CHECK(resumed.result.logs == whole.result.logs);
    for (const char* file : {"/metrics.csv", "/steps.csv"}) {
      CHECK(read_log(run + file) == read_log(directory.file("whole") + file));
    }
  }
}

TEST_CASE("the last ones are kept, and the best one") {
  const TempDirectory directory;
  const auto kept = [&](const std::string& checkpoint, const std::string& rate = "0.05") {
    const std::string run = directory.file("run");
    CHECK(fit_on(text_of(fmt::format("{{SGD: {{learning_rate: {}}}}}", rate),
                         "batch_size: 8, epochs: 5, validation: true") +
                     "checkpoint: " + checkpoint + "\n",
                 "1x1", run)
              .error == "");
    return fs::exists(run + "/checkpoints") ? names_in(run + "/checkpoints")
                                            : std::set<std::string>{};
  };
  using Names = std::set<std::string>;
  CHECK(kept("true") == Names{"step-12", "step-15"});
  CHECK(kept("{keep: 1, async: false}") == Names{"step-15"});
  CHECK(kept("{every: 2 epochs, keep: 9}") == Names{"step-6", "step-12", "step-15"});
  CHECK(kept("{every: 4 steps, keep: 3}") == Names{"step-8", "step-12", "step-15"});
  CHECK(kept("{every: 1 h}") == Names{"step-15"});
  CHECK(kept("{every: 1e-9 s, keep: 100}").size() > 5);
  CHECK(kept("false").empty());
  Job job =
      testing::job_of(text_of(kAdam, "validation: true") + "checkpoint: {best: val_los}\n", "1x1");
  CHECK_THROWS_WITH(prepare_fit(job),
                    "test.yaml:18:13: checkpoint: best: the run logs no 'val_los' that is better "
                    "for being greater or less; nearest: 'val_loss', 'val_mae'");
  // The loss rises from the first epoch on.
  CHECK(kept("{keep: 1, best: val_loss}", "1.2") == Names{"step-3", "step-15"});
}

TEST_CASE("what a resumed run must not change is an error that names it") {
  const TempDirectory directory;
  const std::string full = directory.file("full");
  REQUIRE(fit_on(text_with_callbacks(), "2x2", full).error == "");
  const std::string newest = checkpoints_in(full).back();
  const auto complaint = [&](const std::string& from, const std::string& to) {
    std::string text = text_with_callbacks();
    REQUIRE(text.find(from) != std::string::npos);
    return resume(text.replace(text.find(from), from.size(), to), "2x2", full).error;
  };
  CHECK(complaint("batch_size: 8", "batch_size: 4") ==
        newest +
            ": batch_size is 4 here, 8 in the run that is resumed; a run goes on with the "
            "same samples in the same order: leave batch_size as it was, or begin a new run "
            "with --from " +
            newest);
  CHECK(complaint("units: 7", "units: 8").starts_with(newest + ": "));
  CHECK(complaint("Adam: {learning_rate: 0.05}", "SGD: {learning_rate: 0.05, momentum: 0.9}")
            .find("no tensor 'sgd/") != std::string::npos);
  CHECK(complaint("CSVLogger: {filename: log.csv}", "TerminateOnNaN")
            .find("callback TerminateOnNaN is not the one that the run in " + newest) !=
        std::string::npos);
  // None of this has touched the run.
  CHECK(checkpoints_in(full).back() == newest);
}

TEST_CASE("a new run starts from a checkpoint with the optimizer's state, or from weights alone") {
  const TempDirectory directory;
  const auto text = [](int epochs) {
    return text_of(kAdam, fmt::format("batch_size: 8, shuffle: false, epochs: {}", epochs));
  };
  const Outcome one = fit_on(text(1), "2x2", directory.file("one"));
  const Outcome two = fit_on(text(2), "2x2", directory.file("two"));
  const auto from = [&](bool weights_only) {
    return fit_on(text(1), "2x2", directory.file("from"), 0,
                  {.from = checkpoints_in(directory.file("one")).back(),
                   .weights_only = weights_only,
                   .rerun = Rerun::kOverwrite})
        .result.digest;
  };
  CHECK(from(false) == two.result.digest);
  CHECK(from(true) != two.result.digest);
  CHECK(from(true) != one.result.digest);
}

TEST_CASE("files that cannot be written cost a warning, not the run") {
  const TempDirectory directory;
  const std::string run = directory.file("run");
  const std::string text = text_of(kAdam, "batch_size: 8, epochs: 2");
  const Outcome whole = fit_on(text, "1x1", directory.file("whole"));
  fs::create_directory(run);
  fs::create_symlink("/dev/full", run + "/metrics.csv");
  write_text(run + "/checkpoints", "no directory");
  const Outcome outcome = fit_on(text, "2x2", run);
  REQUIRE(outcome.error == "");
  CHECK(outcome.result.logs.at("loss") == doctest::Approx(whole.result.logs.at("loss")));
  const auto says = [&](const std::string& line) {
    return outcome.out.find(line) != std::string::npos;
  };
  CHECK(says("warning: " + run +
             "/metrics.csv: cannot write: No space left on device; training goes on, and rows are "
             "missing until it can be written\n"));
  CHECK(says("warning: no checkpoint after step 3 in " + run + "/checkpoints: "));
  CHECK(says("warning: no checkpoint after step 6 in " + run + "/checkpoints: "));
}

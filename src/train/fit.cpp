#include "train/fit.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "optim/optimizer.h"
#include "train/csv_log.h"
#include "train/evaluate.h"
#include "train/memory_report.h"
#include "train/progress_bar.h"
#include "train/run_directory.h"
#include "train/runner.h"
#include "train/together.h"

namespace meshwork {
namespace {

/// The files that the first device writes while training.
struct RunFiles {
  std::optional<MetricsLog> metrics;
  std::optional<StepsLog> steps;
};

RunFiles open_files(const Session& session) {
  const config::Config& config = session.job().config;
  RunFiles files;
  together(session.world(), [&] {
    if (!session.is_first()) return;
    create_run_directory(config.run_directory, config.text);
    files.metrics.emplace(config.run_directory + "/metrics.csv");
    if (config.fit.log_steps) files.steps.emplace(config.run_directory + "/steps.csv");
  });
  return files;
}

data::LoaderOptions loader_options(const config::Config& config) {
  return {.batch_size = config.fit.batch_size,
          .shuffle = config.fit.shuffle,
          .seed = config.seed,
          .steps_per_epoch = config.fit.steps_per_epoch};
}

void check_finite(double loss, std::int64_t epoch, std::int64_t step) {
  if (std::isfinite(loss)) return;
  fail(ExitCode::kTraining,
       "epoch {}, step {}: the loss is {}; lower the learning rate, clip gradients (clipnorm), or "
       "look for bad values in the data",
       epoch + 1, step, without_nan_sign(loss));
}

/// One pass of training, and of validation if the job has data for it.
class Trainer {
 public:
  Trainer(Session& session, const FitOptions& options, std::ostream& out)
      : session_(session),
        config_(session.job().config),
        files_(open_files(session)),
        rate_(learning_rate_of(config_.compile->optimizer)),
        runner_(session, ProgramKind::kTrain, session.job().train),
        loader_(session.job().train, loader_options(config_), runner_.parts()),
        bar_(out, session.is_first() ? options.verbose : 0, terminal_of(1)) {
    if (session.job().validation) evaluator_.emplace(session, *session.job().validation);
  }

  Logs run() {
    Logs logs;
    for (std::int64_t epoch = 0; epoch < config_.fit.epochs; ++epoch) {
      logs = run_epoch(epoch);
      if (files_.metrics) files_.metrics->add(epoch, logs);
    }
    return logs;
  }

 private:
  Logs run_epoch(std::int64_t epoch) {
    const std::int64_t steps = loader_.steps_per_epoch();
    bar_.begin_epoch(epoch, config_.fit.epochs, steps);
    runner_.reset();
    std::optional<std::int64_t> bad_step;
    for (std::int64_t step = 1; step <= steps; ++step, ++iteration_) {
      runner_.step(loader_.next(), iteration_, rate_(iteration_));
      if (files_.steps) files_.steps->add(iteration_, runner_.loss());
      if (!bad_step && !std::isfinite(runner_.loss())) bad_step = step;
      if (session_.is_first()) bar_.update(step, runner_.logs());
    }
    Logs logs = runner_.logs();
    if (evaluator_) {
      for (const auto& [name, value] : evaluator_->run()) logs["val_" + name] = value;
    }
    bar_.finish(logs);
    if (bad_step) {
      // The first device has shown the epoch before another one ends the run.
      session_.world().barrier();
      check_finite(logs["loss"], epoch, *bad_step);
    }
    return logs;
  }

  Session& session_;
  const config::Config& config_;
  RunFiles files_;
  Schedule rate_;
  Runner runner_;
  data::Loader loader_;
  ProgressBar bar_;
  std::optional<Evaluator> evaluator_;
  std::int64_t iteration_ = 0;
};

}  // namespace

void prepare_fit(Job& job) {
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.train.samples);
  if (job.validation) add_programs(job, ProgramKind::kEvaluate, job.validation->samples);
}

FitResult fit(const Job& job, const DeviceContext& context, const FitOptions& options,
              std::ostream& out) {
  check_same_programs(job, context.world);
  Session session(job, context);
  session.initialize();
  if (!options.initial_weights.empty()) session.load_weights(options.initial_weights);
  Trainer trainer(session, options, out);
  FitResult result;
  result.logs = trainer.run();
  session.save_weights(job.config.run_directory + "/" + kFinalWeights);
  write_memory_report(session, job.config.run_directory + "/memory.csv");
  result.digest = session.weights_digest();
  return result;
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

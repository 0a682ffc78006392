#include "train/fit.h"

#include <fmt/format.h>

#include "base/error.h"
#include "job/memory_report.h"
#include "optim/optimizer.h"
#include "train/evaluate.h"
#include "train/trainer.h"

namespace meshwork {

void prepare_fit(Job& job) {
  check_callbacks(job.config);
  add_program(job, ProgramKind::kInitialize, 0);
  add_programs(job, ProgramKind::kTrain, job.train);
  if (job.validation) add_programs(job, ProgramKind::kEvaluate, validation_part(job));
  if (averages_weights(job.config.compile->optimizer)) {
    add_program(job, ProgramKind::kAverage, 0);
  }
}

FitResult fit(const Job& job, const World& world, const FitOptions& options, std::ostream& out) {
  check_same_programs(job, *world.hosts);
  Session session(job, world);
  session.initialize();
  if (!options.initial_weights.empty()) session.load_weights(options.initial_weights);
  const std::string& directory = job.config.run_directory;
  const std::string weights = directory + "/" + kFinalWeights;
  const TrainerResult trained = Trainer(session, options.verbose, out).run();
  if (trained.is_usable) session.save_weights(weights);
  if (!trained.failure.empty()) {
    // The first device has shown everything before another one ends the run.
    session.hosts().barrier();
    const std::string saved = "; the weights of the best epoch are in " + weights;
    fail(ExitCode::kTraining, "{}{}", trained.failure, trained.is_usable ? saved : "");
  }
  write_memory_report(session, directory + "/memory.csv");
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

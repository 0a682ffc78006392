#include "cli/training_job.h"

#include "cli/rank.h"
#include "explain/variable_report.h"

namespace meshwork::cli {

Job training_job(const ConfigArguments& arguments, const std::string& command) {
  std::string missing;
  Job job = job_for_checks(load(arguments), launched_devices(), missing);
  if (!can_train(job)) {
    fail("{}; {} compiles training steps, for which it needs data and 'compile:'",
         missing.empty() ? job.config.file + ": no 'compile:' section" : missing, command);
  }
  return job;
}

}  // namespace meshwork::cli

#include "cli/training_job.h"

#include "cli/rank.h"
#include "explain/variable_report.h"

namespace meshwork::cli {

void require_compile(const Job& job, std::string_view why) {
  if (!job.config.compile) fail("{}: no 'compile:' section; {}", job.config.file, why);
}

Job training_job(const ConfigArguments& arguments, const std::string& command) {
  std::string missing;
  Job job = job_for_checks(load(arguments), launched_devices(), missing);
  const std::string why =
      command + " compiles training steps, for which it needs data and 'compile:'";
  if (!missing.empty()) fail("{}; {}", missing, why);
  require_compile(job, why);
  return job;
}

}  // namespace meshwork::cli

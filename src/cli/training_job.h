#pragma once

#include <string>

#include "cli/config_arguments.h"
#include "job/job.h"

namespace meshwork::cli {

/// The job of a configuration, for a command that asks the compiler about training steps; an Error
/// where there are no data, or no 'compile:'.
Job training_job(const ConfigArguments& arguments, const std::string& command);

}  // namespace meshwork::cli

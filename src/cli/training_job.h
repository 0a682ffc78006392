#pragma once

#include <string>
#include <string_view>

#include "cli/config_arguments.h"
#include "job/job.h"

namespace meshwork::cli {

/// An Error where the configuration has no 'compile:'; `why` says what that is needed for.
void require_compile(const Job& job, std::string_view why);

/// The job of a configuration, for a command that asks the compiler about training steps; an Error
/// where there are no data, or no 'compile:'.
Job training_job(const ConfigArguments& arguments, const std::string& command);

}  // namespace meshwork::cli

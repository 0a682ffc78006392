#pragma once

#include <string>

#include "job/job.h"

namespace meshwork {

/// Writes to the directory of a run what the numbers of its data stand for: tokens
/// (run_vocabulary.h), columns and classes (run_names.h).
void write_meaning(const Job& job, const std::string& directory);

/// Throws an Error of ExitCode::kFile where the numbers that weights, a file or a checkpoint in the
/// directory of a run, were trained on stand for something else than those of the data. Weights
/// beside which nothing says it pass.
void check_same_meaning(const Job& job, const std::string& weights);

}  // namespace meshwork

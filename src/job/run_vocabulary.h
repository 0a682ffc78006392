#pragma once

#include <string>

#include "job/job.h"

namespace meshwork {

/// Writes what the numbers of tokens in the data stand for to vocabulary.json in the directory of a
/// run; takes away that of an earlier run where the data are no tokens.
void write_vocabulary(const Job& job, const std::string& directory);

/// Throws an Error of ExitCode::kFile where weights, a file or a checkpoint in the directory of a
/// run, were trained on tokens whose numbers stand for something else than those of the data.
/// Weights that have no vocabulary.json beside them pass.
void check_same_vocabulary(const Job& job, const std::string& weights);

}  // namespace meshwork

#pragma once

#include <optional>
#include <string>

#include "data/vocabulary.h"
#include "job/job.h"

namespace meshwork {

/// Writes what the numbers of tokens in the data stand for to vocabulary.json in the directory of a
/// run, with the tokenizer.json of a tokenizer; takes away those of an earlier run where the data
/// have none.
void write_vocabulary(const Job& job, const std::string& directory);

/// What numbers of tokens stand for to weights, a file or a checkpoint: by the vocabulary.json of
/// the run beside them, else by the data of the configuration; nullopt where neither has any.
std::optional<data::Vocabulary> vocabulary_for(const config::Config& config,
                                               const std::string& weights);

/// Throws an Error of ExitCode::kFile where weights, a file or a checkpoint in the directory of a
/// run, were trained on tokens whose numbers stand for something else than those of the data.
/// Weights that have no vocabulary.json beside them pass.
void check_same_vocabulary(const Job& job, const std::string& weights);

}  // namespace meshwork

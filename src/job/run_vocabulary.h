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

/// What numbers of tokens stand for to weights, a file or a checkpoint: by what stands beside them,
/// the vocabulary.json of a run or Hugging Face's tokenizer.json, else by the data of the
/// configuration; nullopt where none says so. A tokenizer.json alone is read where there are texts.
std::optional<data::Vocabulary> vocabulary_for(const config::Config& config,
                                               const std::string& weights, bool has_texts);

/// Throws an Error of ExitCode::kFile where weights, a file or a checkpoint in the directory of a
/// run, were trained on tokens whose numbers stand for something else than those of the data.
/// Weights that have neither vocabulary.json nor tokenizer.json beside them pass.
void check_same_vocabulary(const Job& job, const std::string& weights);

}  // namespace meshwork

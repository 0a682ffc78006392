#include "job/run_vocabulary.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "data/vocabulary.h"
#include "state/run_directory.h"

namespace meshwork {
namespace {

namespace fs = std::filesystem;

/// nullptr where no field has tokens.
const data::Vocabulary* vocabulary_of(const data::Split& split) {
  for (const data::Field& field : split.fields) {
    const auto& vocabulary = field.source->info().vocabulary;
    if (vocabulary != nullptr) return vocabulary.get();
  }
  return nullptr;
}

/// What stands beside weights; "" where neither does.
std::string vocabulary_file(const std::string& weights) {
  for (const char* name : {data::kVocabularyFile, data::kTokenizerFile}) {
    const std::string file = run_directory_of(weights) + "/" + name;
    if (is_regular_file(file)) return file;
  }
  return "";
}

bool is_tokenizer(const std::string& file) { return file.ends_with(data::kTokenizerFile); }

data::Vocabulary read(const std::string& file) {
  return is_tokenizer(file) ? data::read_tokenizer(file) : data::read_vocabulary(file);
}

/// "65 characters"; "bytes".
std::string describe(const data::Vocabulary& vocabulary) {
  const std::size_t count = vocabulary.texts.size();
  return fmt::format("{}{}s", count == 0 ? "" : fmt::format("{} ", count), vocabulary.unit);
}

/// ", of which number 3 is 'd' there and 'c' here".
std::string difference(const data::Vocabulary& there, const data::Vocabulary& here) {
  const auto [first, second] =
      std::mismatch(there.texts.begin(), there.texts.end(), here.texts.begin(), here.texts.end());
  if (first == there.texts.end() || second == here.texts.end()) return "";
  return fmt::format(", of which number {} is '{}' there and '{}' here",
                     first - there.texts.begin(), *first, *second);
}

/// The key that gives a dataset the numbers of a run.
std::string way_out(const data::Vocabulary& there, const std::string& file) {
  if (there.tokenizer.empty()) return "vocabulary: " + file;
  return "tokenizer: " + fs::path(file).replace_filename(data::kTokenizerFile).string();
}

}  // namespace

void write_vocabulary(const Job& job, const std::string& directory) {
  const data::Vocabulary* vocabulary = vocabulary_of(job.split);
  const std::string file = directory + "/" + data::kVocabularyFile;
  const std::string tokenizer = directory + "/" + data::kTokenizerFile;
  std::error_code ignored;
  if (vocabulary != nullptr && !vocabulary->tokenizer.empty()) {
    replace_file(tokenizer, vocabulary->tokenizer);
  } else {
    fs::remove(tokenizer, ignored);
  }
  if (vocabulary == nullptr) {
    fs::remove(file, ignored);
  } else {
    replace_file(file, to_json(*vocabulary));
  }
}

std::optional<data::Vocabulary> vocabulary_for(const config::Config& config,
                                               const std::string& weights, bool has_texts) {
  const std::string file = vocabulary_file(weights);
  if (!file.empty() && (has_texts || !is_tokenizer(file))) return read(file);
  if (config.dataset.is_null()) return std::nullopt;
  const data::Dataset dataset(config.dataset, config.seed);
  const data::Vocabulary* known = vocabulary_of(dataset.split("train"));
  return known == nullptr ? std::nullopt : std::optional(*known);
}

void check_same_vocabulary(const Job& job, const std::string& weights) {
  const data::Vocabulary* here = vocabulary_of(job.split);
  const std::string file = vocabulary_file(weights);
  if (here == nullptr || file.empty()) return;
  const data::Vocabulary there = read(file);
  if (agree(there, *here)) return;
  fail(ExitCode::kFile,
       "{}: the weights were trained on {}, and the data have {}{}; use the text that they were "
       "trained on, or give the dataset `{}`",
       file, describe(there), describe(*here), difference(there, *here), way_out(there, file));
}

}  // namespace meshwork

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshwork::data {

/// What the numbers of an array of tokens stand for.
struct Vocabulary {
  std::string unit;  ///< one of them: "character", "byte", "token"
  /// UTF-8 of number 0, 1, ..; empty for bytes, which are their own numbers, and where nobody says.
  /// With a tokenizer as its file writes them.
  std::vector<std::string> texts = {};
  std::string tokenizer = {};  ///< contents of the tokenizer.json that makes them; or empty

  bool operator==(const Vocabulary&) const = default;
};

/// Names of files in a run directory.
constexpr const char* kVocabularyFile = "vocabulary.json";
constexpr const char* kTokenizerFile = "tokenizer.json";

/// {"unit": "character", "tokens": ["\n", " ", "!"]}, or of a tokenizer, whose file stands beside
/// this one, {"unit": "token", "tokenizer": "tokenizer.json"}
std::string to_json(const Vocabulary& vocabulary);

/// Reads what to_json() has made of a vocabulary, and the tokenizer beside it. Throws Error with
/// ExitCode::kFile that begins with the path.
Vocabulary read_vocabulary(const std::string& path);

/// That of a tokenizer.json.
Vocabulary read_tokenizer(const std::string& path);

/// Whether numbers mean the same: by the same texts or the same tokenizer, however it is written
/// down; or nobody says what one of the two stands for.
bool agree(const Vocabulary& a, const Vocabulary& b);

}  // namespace meshwork::data

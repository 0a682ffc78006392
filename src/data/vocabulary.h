#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace meshwork::data {

/// What the numbers of an array of tokens stand for.
struct Vocabulary {
  std::string unit;  ///< one of them: "character", "byte", "token"
  /// UTF-8 of number 0, 1, ..; empty for bytes, which are their own numbers, and where nobody says.
  std::vector<std::string> texts = {};

  bool operator==(const Vocabulary&) const = default;
};

/// Name of the file in a run directory.
constexpr const char* kVocabularyFile = "vocabulary.json";

/// {"unit": "character", "tokens": ["\n", " ", "!"]}
std::string to_json(const Vocabulary& vocabulary);

/// Inverse of to_json. Throws Error with ExitCode::kFile that begins with `name`.
Vocabulary parse_vocabulary(std::string_view json, const std::string& name);

}  // namespace meshwork::data

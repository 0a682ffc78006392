#include "data/vocabulary.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/tokenizer/tokenizer.h"

namespace meshwork::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnit = "unit";
constexpr const char* kTokens = "tokens";
constexpr const char* kTokenizer = "tokenizer";

/// What numbers depend on.
nlohmann::json essence(const std::string& tokenizer) {
  auto json = parse_json<nlohmann::json>(tokenizer, kTokenizerFile);
  for (const char* key : {"version", "truncation", "padding"}) json.erase(key);
  return json;
}

}  // namespace

std::string to_json(const Vocabulary& vocabulary) {
  const Json json = vocabulary.tokenizer.empty()
                        ? Json{{kUnit, vocabulary.unit}, {kTokens, vocabulary.texts}}
                        : Json{{kUnit, vocabulary.unit}, {kTokenizer, kTokenizerFile}};
  return json_dump(json, 2) + "\n";
}

Vocabulary read_vocabulary(const std::string& path) {
  const std::string text = read_text_file(path);
  const std::string place = path + ": not the vocabulary of a run";
  const auto read = parse_json<Json>(text, place);
  try {
    if (read.contains(kTokenizer)) {
      if (read.at(kTokenizer) == kTokenizerFile) {
        return read_tokenizer(std::filesystem::path(path).replace_filename(kTokenizerFile));
      }
      fail(ExitCode::kFile, "{}: its tokenizer is not the {} beside it", path, kTokenizerFile);
    }
    return {read.at(kUnit).get<std::string>(), read.at(kTokens).get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: {}", place, error.what());
  }
}

Vocabulary read_tokenizer(const std::string& path) {
  std::string text = read_text_file(path);
  const Tokenizer tokenizer(text, path);
  return {"token", tokenizer.texts(), std::move(text)};
}

bool agree(const Vocabulary& a, const Vocabulary& b) {
  if (a == b) return true;
  if (a.unit != b.unit) return false;
  if (!a.tokenizer.empty() && !b.tokenizer.empty()) {
    return essence(a.tokenizer) == essence(b.tokenizer);
  }
  const auto is_told = [](const Vocabulary& v) { return !v.texts.empty(); };
  return !is_told(a) || !is_told(b);
}

}  // namespace meshwork::data

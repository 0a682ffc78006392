#include "data/vocabulary.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace meshwork::data {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUnit = "unit";
constexpr const char* kTokens = "tokens";

}  // namespace

std::string to_json(const Vocabulary& vocabulary) {
  const Json json{{kUnit, vocabulary.unit}, {kTokens, vocabulary.texts}};
  return json.dump(2) + "\n";
}

Vocabulary parse_vocabulary(std::string_view json, const std::string& name) {
  try {
    const Json read = Json::parse(json);
    return {read.at(kUnit).get<std::string>(), read.at(kTokens).get<std::vector<std::string>>()};
  } catch (const Json::exception& error) {
    fail(ExitCode::kFile, "{}: not the vocabulary of a run: {}", name, error.what());
  }
}

}  // namespace meshwork::data

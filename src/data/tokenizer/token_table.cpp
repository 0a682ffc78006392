#include "data/tokenizer/token_table.h"

#include <nlohmann/json.hpp>

#include "base/quote.h"

namespace meshwork::data {

void TokenTable::add(const std::string& token, std::int64_t number, const std::string& place) {
  if (number < 0 || number >= kMostTokens) {
    fail(ExitCode::kFile, "{}: number {} of '{}'; numbers are 0 to {}", place, number,
         excerpt(token), kMostTokens - 1);
  }
  const auto index = static_cast<std::size_t>(number);
  if (index >= texts_.size()) {
    texts_.resize(index + 1);
    is_known_.resize(index + 1);
  }
  const auto known = numbers_.find(token);
  if (known != numbers_.end() && known->second == number) return;
  if (known != numbers_.end() || is_known_[index]) {
    fail(ExitCode::kFile, "{}: '{}' has number {}, but {}", place, excerpt(token), number,
         known != numbers_.end() ? fmt::format("elsewhere {}", known->second)
                                 : fmt::format("so has '{}'", excerpt(texts_[index])));
  }
  texts_[index] = token;
  is_known_[index] = true;
  numbers_.emplace(token, static_cast<std::int32_t>(number));
}

std::int32_t TokenTable::find(std::string_view token) const {
  const auto found = numbers_.find(token);
  return found == numbers_.end() ? -1 : found->second;
}

std::int32_t TokenTable::find(std::string_view token, const std::string& place) const {
  const std::int32_t number = find(token);
  if (number < 0) fail(ExitCode::kFile, "{}: '{}' is no token", place, excerpt(token));
  return number;
}

bool TokenTable::has(std::int64_t number) const {
  return number >= 0 && number < std::ssize(is_known_) &&
         is_known_[static_cast<std::size_t>(number)];
}

TokenTable read_table(JsonReader& reader, std::string_view key) {
  const nlohmann::json& vocabulary = reader.require(key);
  const std::string place = reader.place_of(key);
  if (!vocabulary.is_object()) {
    fail(ExitCode::kFile, "{}: must be an object of tokens and their numbers", place);
  }
  TokenTable table;
  for (const auto& [token, number] : vocabulary.items()) {
    if (!number.is_number_integer()) {
      fail(ExitCode::kFile, "{}: the number of '{}' is no whole number", place, excerpt(token));
    }
    table.add(token, number.get<std::int64_t>(), place);
  }
  return table;
}

}  // namespace meshwork::data

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace meshwork::data {

/// An object of a JSON file and its place there. Errors are of ExitCode::kFile and begin with the
/// place: "tokenizer.json: model.merges[3]: ..". What nobody asks for is an Error of finish().
class JsonReader {
 public:
  /// `place`: "tokenizer.json" or "tokenizer.json: model". The value must outlive the reader.
  JsonReader(const nlohmann::json& value, std::string place);

  const std::string& place() const { return place_; }
  /// The place of one of its values.
  std::string place_of(std::string_view key) const;

  /// nullptr where the key is not there, or null.
  const nlohmann::json* find(std::string_view key);
  const nlohmann::json& require(std::string_view key);

  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view otherwise);
  bool flag(std::string_view key, bool otherwise);
  std::int64_t number(std::string_view key, std::int64_t least, std::int64_t most,
                      std::optional<std::int64_t> otherwise = {});
  /// A text of one character, as UTF-8.
  std::string character(std::string_view key, std::optional<std::string> otherwise = {});

  JsonReader object(std::string_view key);
  std::vector<JsonReader> objects(std::string_view key);

  /// One of the words of a list of pairs, by the text at `key`.
  template <class T>
  T choose(std::string_view key, std::string_view otherwise,
           const std::vector<std::pair<std::string_view, T>>& choices) {
    const std::string word = text(key, otherwise);
    std::vector<std::string> known;
    for (const auto& [name, value] : choices) {
      if (name == word) return value;
      known.emplace_back(name);
    }
    fail_unknown(key, word, known);
  }

  /// Throws an Error for a key that nobody has asked for.
  void finish() const;

  template <class... Args>
  [[noreturn]] void fail_at(std::string_view key, fmt::format_string<Args...> format,
                            Args&&... args) const {
    fail(ExitCode::kFile, "{}: {}", place_of(key),
         fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_unknown(std::string_view key, std::string_view word,
                                 const std::vector<std::string>& known) const;

 private:
  const nlohmann::json* value_;
  std::string place_;
  int depth_ = 0;  ///< of lists in which it stands
  std::set<std::string, std::less<>> asked_;
};

}  // namespace meshwork::data

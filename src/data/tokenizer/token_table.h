#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// Tokens and their numbers, which may leave gaps.
class TokenTable {
 public:
  static constexpr std::int64_t kMostTokens = std::int64_t{1} << 22;

  TokenTable() = default;
  TokenTable(TokenTable&&) = default;
  TokenTable& operator=(TokenTable&&) = default;

  /// Throws an Error where the token or the number has another partner.
  void add(const std::string& token, std::int64_t number, const std::string& place);

  /// -1 where there is none.
  std::int32_t find(std::string_view token) const;
  /// Throws an Error where there is none.
  std::int32_t find(std::string_view token, const std::string& place) const;

  bool has(std::int64_t number) const;
  /// Of number 0, 1, ..; empty for one that no token has.
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::vector<std::string> texts_;
  std::vector<bool> is_known_;
  std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>> numbers_;
};

/// {"a": 0, "b": 1} at a key.
TokenTable read_table(JsonReader& reader, std::string_view key);

}  // namespace meshwork::data

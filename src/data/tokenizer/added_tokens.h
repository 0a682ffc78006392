#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// A token that is looked for in the text itself, before it is cut.
struct AddedToken {
  std::int32_t number = 0;
  std::string text;
  bool is_special = false;     ///< such as the end of a text
  bool is_normalized = false;  ///< looked for in the normalized text
  bool is_word = false;        ///< only where no word goes on before or behind it
  bool takes_left = false;     ///< with the white space on this side
  bool takes_right = false;
};

/// The `added_tokens` of a tokenizer.json.
std::vector<AddedToken> read_added_tokens(JsonReader& reader);

/// Finds some of these in texts, of several at one place the longest.
class TokenFinder {
 public:
  TokenFinder() = default;
  /// None of the texts is empty.
  explicit TokenFinder(std::vector<AddedToken> tokens);

  /// A token, or the text between two of them: nullptr.
  using Sink = std::function<void(std::string_view text, const AddedToken* token)>;
  void cut(std::string_view text, const Sink& sink) const;

 private:
  const AddedToken* longest_at(std::string_view rest) const;

  std::vector<AddedToken> tokens_;  ///< by their texts
  std::array<bool, 256> begins_{};  ///< whether a text begins with this byte
};

}  // namespace meshwork::data

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "data/tokenizer/json_reader.h"
#include "data/tokenizer/token_table.h"

namespace meshwork::data {

/// What stands for a text that no tokens make up: the `unk_token` of a model. As in the library it
/// may be no token itself, until such a text turns up.
class UnknownToken {
 public:
  UnknownToken() = default;  ///< none
  UnknownToken(std::string token, std::string place, const TokenTable& table)
      : token_(std::move(token)), place_(std::move(place)), number_(table.find(token_)) {}

  bool is_given() const { return !place_.empty(); }

  /// Throws an Error where it is no token.
  std::int32_t number(std::string_view text) const {
    if (number_ < 0) fail(text);
    return number_;
  }

 private:
  [[noreturn]] void fail(std::string_view text) const;

  std::string token_, place_;
  std::int32_t number_ = -1;
};

}  // namespace meshwork::data

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/json_reader.h"
#include "data/tokenizer/token_table.h"

namespace meshwork::data {

/// Appends the tokens of a word, a piece that no pre-tokenizer cuts further.
using WordModel = std::function<void(std::string_view word, std::vector<std::int32_t>& tokens)>;

using WordSink = std::function<void(std::string_view word)>;

/// The `model` of a tokenizer.json.
struct TokenModel {
  std::shared_ptr<const TokenTable> table;
  WordModel encode;
  /// Cuts a word where no token crosses: its parts have the tokens of the whole. Empty: nobody
  /// knows where that is.
  std::function<void(std::string_view word, const WordSink& sink)> cut = {};
};

/// Throws an Error for a type that is not read.
TokenModel read_model(JsonReader& reader);

TokenModel read_bpe(JsonReader& reader);
TokenModel read_word_level(JsonReader& reader);
TokenModel read_word_piece(JsonReader& reader);

}  // namespace meshwork::data

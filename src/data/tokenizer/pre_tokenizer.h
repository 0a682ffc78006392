#pragma once

#include <functional>
#include <string_view>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// A part of a text that is cut further.
struct Piece {
  std::string_view text;  ///< not empty; valid UTF-8, as long as the call lasts
  bool begins_the_text = false;
};
using PieceSink = std::function<void(const Piece&)>;

/// Cuts a piece and gives the parts in order, perhaps written another way.
using PreTokenizer = std::function<void(const Piece& piece, const PieceSink& sink)>;

/// Of the `pre_tokenizer` of a tokenizer.json. Throws an Error for a type that is not read.
PreTokenizer read_pre_tokenizer(JsonReader& reader);

}  // namespace meshwork::data

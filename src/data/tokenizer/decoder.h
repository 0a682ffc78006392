#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// Tokens on their way to a text: what they become when they are put together. `whole`: bytes that
/// are no UTF-8 become U+FFFD, as the library has it; else they stay, for more may follow them.
using Decoder =
    std::function<std::vector<std::string>(std::vector<std::string> tokens, bool whole)>;

/// Of the `decoder` of a tokenizer.json. Throws an Error for a type that is not read.
Decoder read_decoder(JsonReader& reader);

}  // namespace meshwork::data

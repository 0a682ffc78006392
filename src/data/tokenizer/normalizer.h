#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// What is done to a text before it is cut. Valid UTF-8 stays valid.
using Normalizer = std::function<std::string(std::string_view text)>;

/// Of the `normalizer` of a tokenizer.json. Throws an Error for a type that is not read.
Normalizer read_normalizer(JsonReader& reader);

}  // namespace meshwork::data

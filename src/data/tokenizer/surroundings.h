#pragma once

#include <cstdint>
#include <vector>

#include "data/tokenizer/json_reader.h"
#include "data/tokenizer/token_table.h"

namespace meshwork::data {

/// The tokens before and behind a text.
struct Surroundings {
  std::vector<std::int32_t> before, behind;
};

/// Of the `post_processor` of a tokenizer.json, for one text (its `single`). Throws an Error for a
/// type that is not read.
Surroundings read_surroundings(JsonReader& reader, const TokenTable& table);

}  // namespace meshwork::data

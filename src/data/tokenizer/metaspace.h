#pragma once

#include <string>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// What a Metaspace, a pre-tokenizer or a decoder, says: which mark stands for a blank.
struct Metaspace {
  enum class Scheme { kAlways, kFirst, kNever };

  std::string mark;                 ///< one character
  Scheme scheme = Scheme::kAlways;  ///< where a text gets a mark before it
  bool splits = true;               ///< whether words are cut
};

/// Reads the keys of both, of files of all versions.
Metaspace read_metaspace_keys(JsonReader& reader);

}  // namespace meshwork::data

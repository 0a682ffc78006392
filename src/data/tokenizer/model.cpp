#include "data/tokenizer/model.h"

namespace meshwork::data {

TokenModel read_model(JsonReader& reader) {
  using Read = TokenModel (*)(JsonReader&);
  // Files of 2020 do not say the type.
  const char* const untold = reader.find("merges") != nullptr ? "BPE" : "WordPiece";
  const Read read = reader.choose<Read>(
      "type", untold,
      {{"BPE", read_bpe}, {"WordLevel", read_word_level}, {"WordPiece", read_word_piece}});
  TokenModel model = read(reader);
  reader.finish();
  return model;
}

}  // namespace meshwork::data

// WordLevel: a word is a token, or unknown.
#include "data/tokenizer/model.h"
#include "data/tokenizer/unknown_token.h"

namespace meshwork::data {

TokenModel read_word_level(JsonReader& reader) {
  const auto table = std::make_shared<const TokenTable>(read_table(reader, "vocab"));
  const UnknownToken unknown(reader.text("unk_token", "<unk>"), reader.place_of("unk_token"),
                             *table);
  return {table, [table, unknown](std::string_view word, std::vector<std::int32_t>& tokens) {
            const std::int32_t number = table->find(word);
            tokens.push_back(number < 0 ? unknown.number(word) : number);
          }};
}

}  // namespace meshwork::data

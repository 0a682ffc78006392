// WordPiece: from the left, the longest token that the rest of a word begins with, all but the
// first with a prefix.
#include <utf8.h>

#include <algorithm>

#include "base/utf8.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/unknown_token.h"

namespace meshwork::data {
namespace {

class WordPiece {
 public:
  explicit WordPiece(JsonReader& reader)
      : table_(std::make_shared<const TokenTable>(read_table(reader, "vocab"))),
        prefix_(reader.text("continuing_subword_prefix", "##")),
        longest_(reader.number("max_input_chars_per_word", 1, kLongest, 100)),
        unknown_(reader.text("unk_token", "[UNK]"), reader.place_of("unk_token"), *table_) {
    for (const std::string& token : table_->texts()) {
      longest_token_ = std::max(longest_token_, token.size());
    }
  }

  const std::shared_ptr<const TokenTable>& table() const { return table_; }

  void operator()(std::string_view word, std::vector<std::int32_t>& tokens) const {
    const std::size_t before = tokens.size();
    const bool is_short = utf8::distance(word.begin(), word.end()) <= longest_;
    if (is_short && encode(word, tokens)) return;
    tokens.resize(before);
    tokens.push_back(unknown_.number(word));
  }

 private:
  static constexpr std::int64_t kLongest = 1'000;

  /// False where no token fits.
  bool encode(std::string_view word, std::vector<std::int32_t>& tokens) const {
    std::string part;
    for (std::size_t begin = 0; begin < word.size();) {
      part = begin == 0 ? "" : prefix_;
      part += word.substr(begin, longest_token_);
      while (!utf8::is_valid(part)) part.pop_back();
      const std::size_t least = begin == 0 ? 0 : prefix_.size();
      std::int32_t number = -1;
      while (part.size() > least && (number = table_->find(part)) < 0) drop_character(part);
      if (number < 0) return false;
      tokens.push_back(number);
      begin += part.size() - least;
    }
    return true;
  }

  static void drop_character(std::string& text) {
    while (continues_character(text.back())) text.pop_back();
    text.pop_back();
  }

  std::shared_ptr<const TokenTable> table_;
  std::string prefix_;
  std::int64_t longest_;
  UnknownToken unknown_;
  std::size_t longest_token_ = 0;  ///< in bytes
};

}  // namespace

TokenModel read_word_piece(JsonReader& reader) {
  WordPiece model(reader);
  const auto table = model.table();
  return {table, std::move(model)};
}

}  // namespace meshwork::data

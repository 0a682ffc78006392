#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/added_tokens.h"
#include "data/tokenizer/decoder.h"
#include "data/tokenizer/model.h"
#include "data/tokenizer/normalizer.h"
#include "data/tokenizer/pre_tokenizer.h"
#include "data/tokenizer/surroundings.h"
#include "data/tokenizer/word_cache.h"

namespace meshwork::data {

/// A tokenizer.json of Hugging Face's library `tokenizers`, which gives the same numbers as that
/// one (of version 0.23; for characters that are newer than its tables of Unicode it may not). What
/// is left to whoever makes batches, `truncation` and `padding`, is not read.
class Tokenizer {
 public:
  /// Throws an Error of ExitCode::kFile that begins with `name` and the place in the file.
  Tokenizer(std::string_view json, const std::string& name);

  using TokenSink = std::function<void(std::span<const std::int32_t> tokens)>;
  /// Gives the tokens of a text in order, without those around it. The text must be UTF-8.
  void encode(std::string_view text, WordCache& cache, const TokenSink& sink) const;

  /// With those around it.
  std::vector<std::int32_t> encode(std::string_view text) const;
  const Surroundings& surroundings() const { return surroundings_; }

  struct DecodeOptions {
    bool skips_special = false;
    bool whole = true;  ///< as of Decoder
  };
  /// Of numbers below texts().size().
  std::string decode(std::span<const std::int32_t> tokens, const DecodeOptions& options) const;

  /// Tokens as they stand in the file, of number 0, 1, ..; empty where a number has none.
  const std::vector<std::string>& texts() const { return tokens_.texts(); }
  /// Numbers from here on are of added tokens alone.
  std::int64_t own_count() const { return std::ssize(model_.table->texts()); }
  /// -1 where there is none.
  std::int32_t find(std::string_view token) const { return tokens_.find(token); }

 private:
  void read_added(JsonReader& reader);

  Normalizer normalizer_;       ///< empty: none
  PreTokenizer pre_tokenizer_;  ///< empty: none
  TokenModel model_;
  Surroundings surroundings_;
  Decoder decoder_;                                       ///< empty: none
  TokenTable tokens_;                                     ///< of the model, and added
  TokenFinder raw_, normalized_;                          ///< of added tokens
  std::map<std::int32_t, std::string> normalized_texts_;  ///< of added tokens, as they are decoded
  std::vector<bool> is_special_;                          ///< of each token
};

}  // namespace meshwork::data

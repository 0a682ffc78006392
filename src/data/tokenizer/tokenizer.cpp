#include "data/tokenizer/tokenizer.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace meshwork::data {
namespace {

using Json = nlohmann::json;

/// What `read` makes of an object; nothing where it is null.
template <class T>
T read_if_there(JsonReader& file, std::string_view key, T (*read)(JsonReader&)) {
  if (file.find(key) == nullptr) return {};
  JsonReader reader = file.object(key);
  return read(reader);
}

}  // namespace

Tokenizer::Tokenizer(std::string_view json, const std::string& name) {
  const auto parsed = parse_json<Json>(json, name + ": not a tokenizer.json");
  JsonReader file(parsed, name);
  for (const char* key : {"version", "truncation", "padding"}) file.find(key);
  normalizer_ = read_if_there(file, "normalizer", read_normalizer);
  pre_tokenizer_ = read_if_there(file, "pre_tokenizer", read_pre_tokenizer);
  decoder_ = read_if_there(file, "decoder", read_decoder);
  JsonReader model = file.object("model");
  model_ = read_model(model);
  read_added(file);
  if (file.find("post_processor") != nullptr) {
    JsonReader reader = file.object("post_processor");
    surroundings_ = read_surroundings(reader, tokens_);
  }
  file.finish();
}

void Tokenizer::read_added(JsonReader& reader) {
  std::int64_t number = 0;
  for (const std::string& text : model_.table->texts()) {
    if (model_.table->has(number)) tokens_.add(text, number, reader.place_of("model"));
    ++number;
  }
  std::vector<AddedToken> raw, normalized;
  std::vector<std::int32_t> special;
  for (AddedToken& token : read_added_tokens(reader)) {
    tokens_.add(token.text, token.number, reader.place_of("added_tokens"));
    if (token.is_special) special.push_back(token.number);
    if (token.is_normalized && normalizer_) {
      token.text = normalizer_(token.text);
      normalized_texts_[token.number] = token.text;
    }
    if (token.text.empty()) continue;  // nothing is left to look for
    (token.is_normalized ? normalized : raw).push_back(std::move(token));
  }
  raw_ = TokenFinder(std::move(raw));
  normalized_ = TokenFinder(std::move(normalized));
  is_special_.resize(texts().size());
  for (const std::int32_t token : special) is_special_[static_cast<std::size_t>(token)] = true;
}

void Tokenizer::encode(std::string_view text, WordCache& cache, const TokenSink& sink) const {
  const WordSink encode_part = [&](std::string_view word) {
    sink(cache.encode(model_.encode, word));
  };
  const PieceSink encode_word = [&](const Piece& word) {
    const bool is_long = word.text.size() > WordCache::kLongest;
    model_.cut&& is_long ? model_.cut(word.text, encode_part) : encode_part(word.text);
  };
  const auto give = [&](const AddedToken& token) { sink(std::span(&token.number, 1)); };
  bool begins = true;
  const auto encode_plain = [&](std::string_view part, const AddedToken* token) {
    const Piece piece{part, std::exchange(begins, false)};
    if (token != nullptr) return give(*token);
    pre_tokenizer_ ? pre_tokenizer_(piece, encode_word) : encode_word(piece);
  };
  raw_.cut(text, [&](std::string_view part, const AddedToken* token) {
    if (token != nullptr) {
      begins = false;
      give(*token);
    } else if (normalizer_) {
      normalized_.cut(normalizer_(part), encode_plain);
    } else {
      normalized_.cut(part, encode_plain);
    }
  });
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens = surroundings_.before;
  WordCache cache;
  encode(text, cache, [&](std::span<const std::int32_t> some) {
    tokens.insert(tokens.end(), some.begin(), some.end());
  });
  tokens.insert(tokens.end(), surroundings_.behind.begin(), surroundings_.behind.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const std::int32_t> tokens,
                              const DecodeOptions& options) const {
  std::vector<std::string> words;
  for (const std::int32_t token : tokens) {
    const auto number = static_cast<std::size_t>(token);
    const bool is_skipped = options.skips_special && is_special_.at(number);
    if (is_skipped || !tokens_.has(token)) continue;
    const auto rewritten = normalized_texts_.find(token);
    words.push_back(rewritten == normalized_texts_.end() ? texts()[number] : rewritten->second);
  }
  std::string text;
  if (decoder_) {
    for (const std::string& part : decoder_(std::move(words), options.whole)) text += part;
    return text;
  }
  for (const std::string& word : words) text += (&word == words.data() ? "" : " ") + word;
  return text;
}

}  // namespace meshwork::data

#include "data/text_codec.h"

#include <utf8.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/quote.h"
#include "data/tokenizer/tokenizer.h"

namespace meshwork::data {
namespace {

class Bytes : public TextCodec {
 public:
  std::vector<std::int32_t> encode(std::string_view text,
                                   const std::string& /*what*/) const override {
    std::vector<std::int32_t> tokens;
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) text += static_cast<char>(token);
    return text;
  }

  std::int64_t count() const override { return 256; }
};

/// Throws Error where a text is no UTF-8.
void check_utf8(std::string_view text, const std::string& what) {
  const std::size_t bad = utf8::find_invalid(text);
  if (bad == std::string_view::npos) return;
  fail("{}: byte {} (0x{:02x}) is no UTF-8; convert the text (iconv -f latin1 -t utf8)", what, bad,
       static_cast<unsigned char>(text[bad]));
}

class Characters : public TextCodec {
 public:
  explicit Characters(const Vocabulary& vocabulary) : texts_(vocabulary.texts) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      numbers_.emplace(texts_[i], static_cast<std::int32_t>(i));
    }
  }

  std::vector<std::int32_t> encode(std::string_view text, const std::string& what) const override {
    check_utf8(text, what);
    std::vector<std::int32_t> tokens;
    for (const char *at = text.data(), *end = at + text.size(); at != end;) {
      const char* const begin = at;
      const auto point = static_cast<std::uint32_t>(utf8::unchecked::next(at));
      const std::string character(begin, at);
      const auto found = numbers_.find(character);
      if (found == numbers_.end()) fail_unknown(what, character, point, tokens.size());
      tokens.push_back(found->second);
    }
    return tokens;
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    std::string text;
    for (const std::int32_t token : tokens) text += texts_.at(static_cast<std::size_t>(token));
    return text;
  }

  std::int64_t count() const override { return static_cast<std::int64_t>(texts_.size()); }

 private:
  [[noreturn]] void fail_unknown(const std::string& what, const std::string& character,
                                 std::uint32_t point, std::size_t place) const {
    constexpr std::size_t kShown = 100;
    std::string known;
    for (std::size_t i = 0; i < std::min(texts_.size(), kShown); ++i) known += texts_[i];
    std::replace(known.begin(), known.end(), '\n', ' ');
    fail(
        "{}: character {} is '{}' (U+{:04X}), which is none of the {} that the model was trained "
        "on; leave it out, or write it with these: {}{}",
        what, place, excerpt(character), point, texts_.size(), visible(known),
        texts_.size() > kShown ? ".." : "");
  }

  std::vector<std::string> texts_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

/// Words and their parts; special tokens are shown.
class Tokens : public TextCodec {
 public:
  explicit Tokens(const Vocabulary& vocabulary)
      : tokenizer_(vocabulary.tokenizer, kTokenizerFile) {}

  std::vector<std::int32_t> encode(std::string_view text, const std::string& what) const override {
    check_utf8(text, what);
    return tokenizer_.encode(text);
  }

  std::string decode(std::span<const std::int32_t> tokens) const override {
    return tokenizer_.decode(tokens, {.skips_special = false, .whole = false});
  }

  std::int64_t count() const override { return std::ssize(tokenizer_.texts()); }
  std::int64_t own_count() const override { return tokenizer_.own_count(); }

 private:
  Tokenizer tokenizer_;
};

}  // namespace

std::unique_ptr<TextCodec> make_text_codec(const Vocabulary& vocabulary) {
  if (vocabulary.unit == "byte") return std::make_unique<Bytes>();
  if (vocabulary.unit == "character") return std::make_unique<Characters>(vocabulary);
  if (!vocabulary.tokenizer.empty()) return std::make_unique<Tokens>(vocabulary);
  return nullptr;
}

}  // namespace meshwork::data

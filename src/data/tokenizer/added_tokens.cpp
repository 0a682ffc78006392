#include "data/tokenizer/added_tokens.h"

#include <utf8.h>

#include <algorithm>

#include "data/tokenizer/token_table.h"
#include "data/tokenizer/unicode.h"

namespace meshwork::data {
namespace {

/// The last character of a text that is not empty.
char32_t last_of(std::string_view text) {
  const char* at = text.data() + text.size();
  return static_cast<char32_t>(utf8::unchecked::prior(at));
}

char32_t first_of(std::string_view text) {
  return static_cast<char32_t>(utf8::unchecked::peek_next(text.data()));
}

bool stands_alone(std::string_view before, std::string_view behind) {
  return (before.empty() || !is_word(last_of(before))) &&
         (behind.empty() || !is_word(first_of(behind)));
}

/// Bytes of white space at the end.
std::size_t space_at_end(std::string_view text) {
  const char* at = text.data() + text.size();
  const char* begin = at;
  while (at != text.data() && is_space(static_cast<char32_t>(utf8::unchecked::prior(at))))
    begin = at;
  return static_cast<std::size_t>(text.data() + text.size() - begin);
}

std::size_t space_at_start(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const char* behind = at;
  while (at != end && is_space(static_cast<char32_t>(utf8::unchecked::next(at)))) behind = at;
  return static_cast<std::size_t>(behind - text.data());
}

}  // namespace

std::vector<AddedToken> read_added_tokens(JsonReader& reader) {
  std::vector<AddedToken> tokens;
  if (reader.find("added_tokens") == nullptr) return tokens;
  for (JsonReader& entry : reader.objects("added_tokens")) {
    AddedToken token;
    token.number = static_cast<std::int32_t>(entry.number("id", 0, TokenTable::kMostTokens - 1));
    token.text = entry.text("content");
    if (token.text.empty()) entry.fail_at("content", "is empty; take this token out");
    token.is_special = entry.flag("special", false);
    token.is_normalized = entry.flag("normalized", !token.is_special);
    token.is_word = entry.flag("single_word", false);
    token.takes_left = entry.flag("lstrip", false);
    token.takes_right = entry.flag("rstrip", false);
    entry.finish();
    tokens.push_back(std::move(token));
  }
  return tokens;
}

TokenFinder::TokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::stable_sort(tokens_, {}, &AddedToken::text);
  for (const AddedToken& token : tokens_) begins_[static_cast<unsigned char>(token.text[0])] = true;
}

const AddedToken* TokenFinder::longest_at(std::string_view rest) const {
  // Of tokens by their texts, those that begin with the first `length` bytes.
  auto low = tokens_.begin(), high = tokens_.end();
  const AddedToken* longest = nullptr;
  for (std::size_t length = 1; length <= rest.size(); ++length) {
    const auto byte_of = [&](const AddedToken& token) {
      return static_cast<unsigned char>(token.text[length - 1]);
    };
    const auto byte = static_cast<unsigned char>(rest[length - 1]);
    low = std::ranges::lower_bound(low, high, byte, {}, byte_of);
    high = std::ranges::upper_bound(low, high, byte, {}, byte_of);
    for (; low != high && low->text.size() == length; ++low) longest = &*low;
    if (low == high) return longest;
  }
  return longest;
}

void TokenFinder::cut(std::string_view text, const Sink& sink) const {
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const bool may_begin = begins_[static_cast<unsigned char>(text[at])];
    const AddedToken* const token = may_begin ? longest_at(text.substr(at)) : nullptr;
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + token->text.size();
    at = end;
    if (token->is_word && !stands_alone(text.substr(0, begin), text.substr(end))) continue;
    if (token->takes_left) begin = std::max(done, begin - space_at_end(text.substr(0, begin)));
    if (token->takes_right) end += space_at_start(text.substr(end));
    if (begin > done) sink(text.substr(done, begin - done), nullptr);
    sink(text.substr(begin, end - begin), token);
    done = end;
  }
  if (done < text.size()) sink(text.substr(done), nullptr);
}

}  // namespace meshwork::data

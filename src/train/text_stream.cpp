#include "train/text_stream.h"

#include <algorithm>

#include "base/utf8.h"

namespace meshwork {
namespace {

/// Bytes at the end that begin a character of UTF-8 without ending it.
std::size_t open_character(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const std::string_view end = text.substr(text.size() - back);
    if (continues_character(end[0])) continue;
    const FirstCharacter last = first_character(end);
    return last.size == back && last.length > back ? back : 0;
  }
  return 0;
}

/// Bytes at the end that begin `stop` without ending it.
std::size_t open_stop(const std::string& text, const std::string& stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.ends_with(std::string_view(stop).substr(0, length))) return length;
  }
  return 0;
}

/// By so many tokens a codec knows how the next one is read.
constexpr std::size_t kContext = 8;
/// Of so many, the last kContext are kept.
constexpr std::size_t kMostTokens = 64;

}  // namespace

TextStream::TextStream(const data::TextCodec& codec, std::vector<std::string> stops,
                       std::span<const std::int32_t> prompt)
    : codec_(codec), stops_(std::move(stops)) {
  const std::span<const std::int32_t> end = prompt.last(std::min(prompt.size(), kContext));
  tokens_.assign(end.begin(), end.end());
  before_ = codec_.decode(tokens_).size();
}

std::string TextStream::add(std::int32_t token) {
  tokens_.push_back(token);
  read();
  // A stop text that begins in what has been given would have been held back.
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, whole_.find(stop, given_));
  has_stopped_ = end != std::string::npos;
  const std::string more = give(has_stopped_ ? end : sure_end());
  forget();
  return more;
}

void TextStream::read() {
  const std::string text = codec_.decode(tokens_);
  whole_ = text_;
  // A character that the prompt left open may be shorter than what stood for it.
  whole_ += std::string_view(text).substr(std::min(before_, text.size()));
}

/// Lets go of tokens by which no more is read, and of what has been given.
void TextStream::forget() {
  if (tokens_.size() < kMostTokens || open_character(whole_) > 0) return;
  tokens_.erase(tokens_.begin(), tokens_.end() - static_cast<std::ptrdiff_t>(kContext));
  before_ = codec_.decode(tokens_).size();
  whole_.erase(0, given_);
  given_ = 0;
  text_ = whole_;
}

std::string TextStream::finish() { return has_stopped_ ? "" : give(whole_.size()); }

std::size_t TextStream::sure_end() const {
  std::size_t held = open_character(whole_);
  for (const std::string& stop : stops_) held = std::max(held, open_stop(whole_, stop));
  return whole_.size() - held;
}

std::string TextStream::give(std::size_t end) {
  if (end <= given_) return "";
  const std::string more = whole_.substr(given_, end - given_);
  given_ = end;
  return more;
}

}  // namespace meshwork

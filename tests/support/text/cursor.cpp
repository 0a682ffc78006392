#include "support/text/cursor.h"

#include <cctype>
#include <charconv>

namespace meshwork::testing {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         (c != '\0' && std::string_view("_./:+-").find(c) != std::string_view::npos);
}

}  // namespace

void TextCursor::skip() {
  while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++position_;
}

void TextCursor::expected(std::string_view what) const {
  if (position_ == text_.size()) error("{} expected at the end of the line", what);
  error("{} expected before '{}'", what, text_.substr(position_));
}

bool TextCursor::at_end() {
  skip();
  return position_ == text_.size();
}

bool TextCursor::take(std::string_view word) {
  skip();
  if (text_.substr(position_, word.size()) != word) return false;
  // "input" is not the beginning of "inputs".
  const std::size_t end = position_ + word.size();
  if (is_word(word.back()) && end < text_.size() && is_word(text_[end])) return false;
  position_ = end;
  return true;
}

void TextCursor::expect(std::string_view word) {
  if (!take(word)) expected(fmt::format("'{}'", word));
}

std::int64_t TextCursor::integer() {
  skip();
  std::int64_t result = 0;
  const char* begin = text_.data() + position_;
  const auto [end, problem] = std::from_chars(begin, text_.data() + text_.size(), result);
  if (problem != std::errc{}) expected("a 64-bit integer");
  position_ += static_cast<std::size_t>(end - begin);
  return result;
}

ValueId TextCursor::value(std::size_t count) {
  expect("%");
  const std::int64_t id = integer();
  if (id < 0 || id >= static_cast<std::int64_t>(count)) {
    error("%{} is not there yet; {} values stand above", id, count);
  }
  return static_cast<ValueId>(id);
}

std::string TextCursor::word() {
  skip();
  const std::size_t begin = position_;
  while (is_word(peek())) ++position_;
  if (position_ == begin) expected("a name");
  return std::string(text_.substr(begin, position_ - begin));
}

bool TextCursor::at_quote() {
  skip();
  return peek() == '"';
}

char TextCursor::escaped() {
  const char c = peek();
  if (c == '"' || c == '\\' || c == 'n') {
    ++position_;
    return c == 'n' ? '\n' : c;
  }
  unsigned int code = 0;
  const char* begin = text_.data() + position_ + 1;
  if (c == 'x' && position_ + 3 <= text_.size() &&
      std::from_chars(begin, begin + 2, code, 16).ptr == begin + 2) {
    position_ += 3;
    return static_cast<char>(code);
  }
  expected("an escaped character");
}

std::string TextCursor::quoted_text() {
  if (!at_quote()) expected("a text in quotes");
  ++position_;
  std::string result;
  while (peek() != '"') {
    if (position_ == text_.size()) expected("'\"'");
    const char c = text_[position_++];
    result += c == '\\' ? escaped() : c;
  }
  ++position_;
  return result;
}

std::vector<std::int64_t> TextCursor::integers() {
  std::vector<std::int64_t> result;
  expect("[");
  if (take("]")) return result;
  do {
    result.push_back(integer());
  } while (take(","));
  expect("]");
  return result;
}

Shape TextCursor::shape() {
  Shape result = integers();
  for (const std::int64_t extent : result) {
    if (extent < 0) error("extent {} in shape {}", extent, to_string(result));
  }
  return result;
}

TensorType TextCursor::type() {
  const std::string name = word();
  try {
    const DType dtype = dtype_from_string(name);
    return {dtype, shape()};
  } catch (const Error& problem) {
    if (std::string_view(problem.what()).starts_with("line ")) throw;
    error("{}", problem.what());
  }
}

Attr TextCursor::number() {
  skip();
  const char* begin = text_.data() + position_;
  const char* end = text_.data() + text_.size();
  std::int64_t whole = 0;
  double real = 0;
  const auto as_whole = std::from_chars(begin, end, whole);
  const auto as_real = std::from_chars(begin, end, real);
  // A real always has a point, an exponent or a letter, so that it is read further.
  if (as_whole.ec != std::errc::invalid_argument && as_whole.ptr == as_real.ptr) {
    if (as_whole.ec != std::errc{}) expected("a 64-bit integer");
    position_ += static_cast<std::size_t>(as_whole.ptr - begin);
    return whole;
  }
  if (as_real.ec != std::errc{}) expected("a value");
  position_ += static_cast<std::size_t>(as_real.ptr - begin);
  return real;
}

Attr TextCursor::attr() {
  if (take("true")) return true;
  if (take("false")) return false;
  if (at_quote()) return quoted_text();
  if (peek() == '[') return list();
  return number();
}

Attr TextCursor::list() {
  const std::size_t begin = position_;
  expect("[");
  const bool is_real = peek() != ']' && std::holds_alternative<double>(number());
  position_ = begin;
  if (!is_real) return integers();
  std::vector<double> reals;
  expect("[");
  do {
    const Attr item = number();
    if (!std::holds_alternative<double>(item)) error("a list of reals has a whole number");
    reals.push_back(std::get<double>(item));
  } while (take(","));
  expect("]");
  return reals;
}

Attrs TextCursor::attrs() {
  Attrs result;
  if (!take("{")) return result;
  do {
    const std::string name = word();
    if (result.find(name) != nullptr) error("attribute '{}' stands twice", name);
    expect("=");
    result.set(name, attr());
  } while (take(","));
  expect("}");
  return result;
}

}  // namespace meshwork::testing

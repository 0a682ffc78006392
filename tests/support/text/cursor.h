#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "graph/graph.h"

namespace meshwork::testing {

/// Reads one line of the text form from left to right; spaces before a word do not matter.
/// What does not fit throws an Error with the number of the line.
class TextCursor {
 public:
  TextCursor(std::string_view line, int number) : text_(line), number_(number) {}

  /// Whether only spaces are left.
  bool at_end();
  /// What is left, without spaces before it.
  std::string_view rest() {
    skip();
    return text_.substr(position_);
  }
  /// Whether `word` comes next; passes over it if so.
  bool take(std::string_view word);
  /// Passes over `word`, which must come next.
  void expect(std::string_view word);

  std::int64_t integer();
  /// "%3", a value below `count`.
  ValueId value(std::size_t count);
  /// Letters, digits and any of "_./:+-".
  std::string word();
  bool at_quote();
  std::string quoted_text();
  Shape shape();
  TensorType type();
  /// {axes=[0, 1], keep=true}, or nothing at all.
  Attrs attrs();

  template <class... Args>
  [[noreturn]] void error(fmt::format_string<Args...> format, Args&&... args) const {
    fail("line {}: {}", number_, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  void skip();
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  [[noreturn]] void expected(std::string_view what) const;
  char escaped();
  std::vector<std::int64_t> integers();
  Attr attr();
  Attr number();
  Attr list();

  std::string_view text_;
  std::size_t position_ = 0;
  int number_;
};

}  // namespace meshwork::testing

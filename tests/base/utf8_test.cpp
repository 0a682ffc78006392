#include "base/utf8.h"

#include <doctest/doctest.h>

#include <string>

using namespace meshwork;

namespace {

/// "size/length".
std::string first(std::string_view text) {
  const FirstCharacter found = first_character(text);
  return std::to_string(found.size) + "/" + std::to_string(found.length);
}

}  // namespace

TEST_CASE("the first character is whole, begun or none") {
  CHECK(first("ab") == "1/1");
  CHECK(first("ä日") == "2/2");
  CHECK(first("日") == "3/3");
  CHECK(first("😀") == "4/4");
  CHECK(first("\xe6\x97") == "2/3");
  CHECK(first("\xc3z") == "1/2");
  CHECK(first("\xed\xa0\x80") == "1/3");      // a surrogate
  CHECK(first("\xf4\x90\x80\x80") == "1/4");  // beyond U+10FFFF
  CHECK(first("\xe0\x80\x80") == "1/3");      // longer than it need be
  CHECK(first("\xc0\x80") == "1/0");
  CHECK(first("\x80") == "1/0");
  CHECK(first("\xff") == "1/0");
}

TEST_CASE("columns are characters without escape sequences") {
  CHECK(width_of("") == 0);
  CHECK(width_of("aä日") == 3);
  CHECK(width_of("\x1b[1mab\x1b[0m") == 2);
}

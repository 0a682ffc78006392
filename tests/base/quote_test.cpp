#include "base/quote.h"

#include <doctest/doctest.h>

using namespace meshwork;

TEST_CASE("what a terminal would act on is shown as bytes") {
  CHECK(visible("a\x1B[31mb") == "a\\x1B[31mb");
  CHECK(visible("bell\a, delete\x7F") == "bell\\x07, delete\\x7F");
  CHECK(visible("two\nlines\tand more") == "two\nlines\tand more");
  CHECK(visible("\xC2\x9B"
                "31m") == "\\xC2\\x9B31m");  // the escape sequence in one character
  CHECK(visible("größer 日本 🙂") == "größer 日本 🙂");
}

TEST_CASE("bytes that are no UTF-8 are shown as such") {
  CHECK(visible("\xFF") == "\\xFF");
  CHECK(visible("a\xC3") == "a\\xC3");
  CHECK(visible("\xC0\xAF") == "\\xC0\\xAF");           // too long for '/'
  CHECK(visible("\xED\xA0\x80") == "\\xED\\xA0\\x80");  // a surrogate
  CHECK(visible("\xF4\x90\x80\x80") == "\\xF4\\x90\\x80\\x80");
  CHECK(is_plain_text("größer\n"));
  CHECK_FALSE(is_plain_text("\xC3"));
  CHECK_FALSE(is_plain_text(std::string_view("\0", 1)));
}

TEST_CASE("an excerpt is one short line") {
  CHECK(excerpt("short") == "short");
  CHECK(excerpt("a\nb") == "a b");
  CHECK(excerpt(std::string(1000, 'x')) == std::string(120, 'x') + "... (1000 bytes)");
  CHECK(excerpt("aaaä", 4) == "aaa... (5 bytes)");  // no half characters
}

TEST_CASE("a long text keeps its beginning and its end") {
  CHECK(shortened("as it is") == "as it is");
  const std::string text = "begin" + std::string(100, 'x') + "end";
  CHECK(shortened(text, 12) == "beginx ... (96 bytes are left out here) ... xxxend");
}

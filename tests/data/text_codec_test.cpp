// Texts to numbers of tokens and back.
#include "data/text_codec.h"

#include <doctest/doctest.h>

#include "support/errors.h"

using namespace meshwork;

TEST_CASE("characters are numbered as in the vocabulary") {
  const auto codec = data::make_text_codec({"character", {"\n", "a", "ä", "日"}});
  CHECK(codec->count() == 4);
  const std::vector<std::int32_t> tokens = codec->encode("日ä\na", "--prompt");
  CHECK(tokens == std::vector<std::int32_t>{3, 2, 0, 1});
  CHECK(codec->decode(tokens) == "日ä\na");
  CHECK(codec->encode("", "--prompt").empty());
  const auto error = [&](const std::string& text) {
    return meshwork::test::error_of([&] { codec->encode(text, "--prompt"); });
  };
  CHECK(
      error("aab") ==
      "2: --prompt: character 2 is 'b' (U+0062), which is none of the 4 that the model was trained "
      "on; leave it out, or write it with these:  aä日");
  CHECK(error("a\xff") ==
        "2: --prompt: byte 1 (0xff) is no UTF-8; convert the text (iconv -f latin1 -t utf8)");
  CHECK(error("\x1b") ==
        "2: --prompt: character 0 is '\\x1B' (U+001B), which is none of the 4 that the model was "
        "trained on; leave it out, or write it with these:  aä日");
}

TEST_CASE("bytes are their own numbers, and any of them is a text") {
  const auto codec = data::make_text_codec({"byte", {}});
  CHECK(codec->count() == 256);
  CHECK(codec->encode("a\xff", "--prompt") == std::vector<std::int32_t>{97, 255});
  CHECK(codec->decode(std::vector<std::int32_t>{97, 0, 255}) == std::string("a\0\xff", 3));
}

TEST_CASE("tokens that nobody says a text of have no codec") {
  CHECK(data::make_text_codec({"token", {}}) == nullptr);
}

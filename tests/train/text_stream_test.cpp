// Text as it comes: nothing is given that could still change.
#include "train/text_stream.h"

#include <doctest/doctest.h>

using namespace meshwork;

namespace {

/// What each byte adds, with "|" between, and what the end adds.
std::string stream(const std::string& text, const std::vector<std::string>& stops) {
  const auto codec = data::make_text_codec({"byte", {}});
  TextStream stream(*codec, stops);
  std::string all;
  for (const char c : text) {
    all += stream.add(static_cast<unsigned char>(c)) + "|";
    if (stream.has_stopped()) return all + "stop";
  }
  return all + stream.finish();
}

}  // namespace

TEST_CASE("characters come whole") {
  CHECK(stream("ab", {}) == "a|b|");
  CHECK(stream("aä日😀", {}) == "a||ä|||日||||😀|");
  // What is no UTF-8 comes as it is, at the latest at the end.
  CHECK(stream("a\xc3", {}) == "a||\xc3");
  CHECK(stream("\xc3z", {}) == "|\xc3z|");
  CHECK(stream("\x80\x80", {}) == "\x80|\x80|");
}

TEST_CASE("a text ends before a stop, of which no part is given") {
  CHECK(stream("one. two", {". "}) == "o|n|e|||stop");
  CHECK(stream("a.b. c", {". "}) == "a||.b|||stop");
  CHECK(stream("a.", {". "}) == "a||.");
  CHECK(stream("xaab", {"ab", "z"}) == "x||a||stop");
  CHECK(stream("z", {"z"}) == "|stop");
}

TEST_CASE("a long text comes as it is") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 7 == 0 ? "日" : i % 3 == 0 ? "ä" : "b";
  std::string all = stream(text, {"bbb"});
  std::erase(all, '|');
  CHECK(all == text);
}

TEST_CASE("what is held back for long is not lost") {
  const std::string stop(150, 'x');
  std::string all = stream("ab" + stop.substr(1) + "c" + stop + "d", {stop});
  std::erase(all, '|');
  CHECK(all == "ab" + stop.substr(1) + "cstop");
  all = stream("ab" + stop.substr(1), {stop});
  std::erase(all, '|');
  CHECK(all == "ab" + stop.substr(1));
}

TEST_CASE("a prompt that ends within a character") {
  const auto codec = data::make_text_codec({"byte", {}});
  const std::vector<std::int32_t> prompt{'a', 0xe6, 0x97};
  TextStream stream(*codec, {}, prompt);
  CHECK(stream.add(0xa5) == "\xa5");
  CHECK(stream.add('b') == "b");
}

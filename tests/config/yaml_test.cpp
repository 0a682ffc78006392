#include "config/yaml.h"

#include <doctest/doctest.h>

#include <string_view>

#include "config/config_text.h"

using namespace meshwork::config;

TEST_CASE("values know their kind and their place") {
  const Value root = parse_yaml("a: 1\nb:\n  - x\n  - 'y'\nc: {d: ~, e:}\n", "f.yaml");
  REQUIRE(root.is_map());
  CHECK(root.keys() == std::vector<std::string>{"a", "b", "c"});
  CHECK(to_string(root.find("b")->at) == "f.yaml:2:1");
  const Value& b = root.find("b")->value;
  REQUIRE(b.is_list());
  CHECK(to_string(b.list[1].at) == "f.yaml:4:5");
  CHECK(b.list[1].quoted);
  CHECK(!b.list[0].quoted);
  CHECK(root.find("c")->value.find("d")->value.is_null());
  CHECK(root.find("c")->value.find("e")->value.is_null());
  CHECK(parse_yaml("", "f.yaml").is_null());
}

TEST_CASE("a quoted null is a word, and Windows files are files") {
  CHECK(parse_yaml("'null'", "f").is_scalar());
  const Value root = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: two\r\n",
      "f");
  CHECK(root.find("a")->value.as_integer("a") == 1);
  CHECK(root.find("b")->value.as_string("b") == "two");
}

TEST_CASE("parse_yaml_at gives every value the same place") {
  const Value value = parse_yaml_at("{a: [1, {b: 2}]}", {"here", 0, 0});
  CHECK(to_string(value.find("a")->at) == "here");
  CHECK(to_string(value.find("a")->value.list[1].find("b")->value.at) == "here");
  CHECK(error_of([] { parse_yaml_at("{a", {"here", 0, 0}); }).starts_with("here: not valid YAML"));
}

TEST_CASE("aliases are values, too, but not without end") {
  const Value root = parse_yaml("a: &x [1, 2]\nb: *x\n", "f");
  CHECK(root.find("b")->value.list.size() == 2);
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) {
    bomb += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  }
  CHECK(error_of([&] { parse_yaml(bomb, "f"); }).find("more than 200000 values") !=
        std::string::npos);
  CHECK(error_of([] { parse_yaml("a: &x [*x]\n", "f"); }) ==
        "f:1:8: an alias stands within what it stands for");
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) deep += fmt::format("a{}: &a{} [*a{}]\n", i, i, i - 1);
  CHECK(error_of([&] { parse_yaml(deep, "f"); }).find("nested more than 64 deep") !=
        std::string::npos);
  const std::string word(1000, 'x');
  std::string words = "a: &a " + word + "\nb: [*a";
  for (int i = 0; i < 9000; ++i) words += ", *a";
  CHECK(error_of([&] { parse_yaml(words + "]\n", "f"); }).find("more than 8388608 letters") !=
        std::string::npos);
}

TEST_CASE("a file that is too long is an Error at once") {
  CHECK(error_of([] { parse_yaml("a: " + std::string(50'000'000, 'x'), "f"); }) ==
        "f: has more than 1048576 bytes, too many for a configuration; is it the right file?");
  CHECK(error_of([] { load_yaml("/dev/zero"); }).starts_with("/dev/zero: has more than"));
  CHECK(load_yaml("/dev/null").is_null());
}

TEST_CASE("what is no text is an Error, and does not reach a terminal") {
  CHECK(error_of([] { parse_yaml("a: \"\\e[31mred\"", "f"); }) ==
        "f:1:4: '\\x1B[31mred' is no text: it has control characters, or is not in UTF-8");
  CHECK(error_of([] { parse_yaml("\"\\a\": 1", "f"); }).starts_with("f:1:1: '\\x07' is no text"));
  CHECK(parse_yaml("a: \"\\t\\n\"", "f").find("a")->value.scalar == "\t\n");
}

TEST_CASE("nesting without end is an Error") {
  for (const std::size_t depth : {100UL, 100000UL}) {
    const std::string open(depth, '[');
    CHECK(error_of([&] { parse_yaml(open + std::string(depth, ']'), "f"); }).starts_with("f:1:"));
    CHECK(error_of([&] { parse_yaml(open, "f"); }).starts_with("f:1:"));
  }
}

TEST_CASE("bytes that are no YAML are Errors or values, never a crash") {
  using namespace std::string_view_literals;
  constexpr auto kBytes = "{}[]:,-? \n\t'\"#&*!|>%@`ab01\\\x00\xff"sv;
  std::string noise;
  std::uint32_t state = 1;
  for (int round = 0; round < 3000; ++round) {
    noise.clear();
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525u + 1013904223u;
      noise += kBytes[(state >> 16) % kBytes.size()];
    }
    CAPTURE(noise);
    const std::string error = error_of([&] { parse_yaml(noise, "f"); });
    CHECK((error.empty() || error.starts_with("f:")));
  }
}

#include "base/json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "support/errors.h"

using namespace meshwork;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

std::string error_of_text(std::string_view text, std::string_view part = {}) {
  return test::error_of([&] { parse_json<json>(text, "a.json", part); });
}

std::string error_of_strict(std::string_view text) {
  return test::error_of([&] { parse_strict_json<ordered_json>(text, "a.json", "the index"); });
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("JSON is parsed, with its keys in their order where that is wanted") {
  CHECK(parse_json<json>(R"({"b": [1], "a": null})", "a.json")["b"][0] == 1);
  const auto ordered = parse_strict_json<ordered_json>(R"({"b": {"a": 1}, "a": 2})", "a.json");
  CHECK(json_dump(ordered) == R"({"b":{"a":1},"a":2})");
  CHECK(json_dump(parse_json<json>(R"({"b":1,"a":2})", "a.json"), 1) ==
        "{\n \"a\": 2,\n \"b\": 1\n}");
}

TEST_CASE("what is no JSON is an error of the file, with the place in it") {
  CHECK(error_of_text("{\"a\": }") == "3: a.json: it is not JSON, at byte 7");
  CHECK(error_of_text("", "the header") == "3: a.json: the header is not JSON, at byte 1 of it");
  CHECK(error_of_text("[1e999]") == "3: a.json: it is not JSON that can be read");
  CHECK(error_of_strict("[") == "3: a.json: the index is not JSON, at byte 2 of it");
}

TEST_CASE("JSON of other programs has no key twice, and is not nested deep") {
  CHECK(error_of_strict(R"({"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]})").empty());
  CHECK(error_of_strict(R"({"a": 1, "b": {"a": 1}, "a": 2})") ==
        "3: a.json: the index has the key 'a' twice");
  CHECK(error_of_strict(nested(64)).empty());
  CHECK(error_of_strict(nested(70)) == "3: a.json: the index is nested more than 64 deep");
  CHECK(error_of_text(nested(70)).empty());
  CHECK(error_of_text(R"({"a": 1, "a": 2})").empty());
}

TEST_CASE("a text that is no JSON is null to those who ask for that") {
  CHECK(json_or_null<json>("{").is_null());
  CHECK(json_or_null<ordered_json>(R"({"a": 1})")["a"] == 1);
}

TEST_CASE("bytes that are no UTF-8 are written as U+FFFD") {
  CHECK(json_dump(json("a\xff")) == "\"a\xef\xbf\xbd\"");
}

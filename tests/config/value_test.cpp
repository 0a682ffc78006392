#include "config/value.h"

#include <doctest/doctest.h>

#include "config/config_text.h"
#include "config/yaml.h"

using namespace meshwork;
using namespace meshwork::config;

namespace {

Value value(const std::string& text) { return parse_yaml(text, "f"); }

}  // namespace

TEST_CASE("conversions take what YAML means, and nothing else") {
  CHECK(value("true").as_bool("x"));
  CHECK(!value("False").as_bool("x"));
  CHECK(!value("yes").is_bool());
  CHECK(!value("'true'").is_bool());
  CHECK(value("-12").as_integer("x") == -12);
  CHECK(value("+12").as_integer("x") == 12);
  CHECK(value("-9223372036854775808").as_integer("x") == INT64_MIN);
  for (const char* text :
       {"9223372036854775808", "1.0", "+-5", "+", "1_000", "0x10", "12a", "'7'"}) {
    CAPTURE(text);
    CHECK(!value(text).is_integer());
  }
  CHECK(value("1e-3").as_real("x") == 1e-3);
  CHECK(value("7").as_real("x") == 7.0);
  CHECK(value("18446744073709551615").as_unsigned("x") == UINT64_MAX);
  CHECK(value("[2, 3]").as_shape("x") == Shape{2, 3});
  CHECK(value("5").as_shape("x") == Shape{5});
  CHECK(value("5").as_string("x") == "5");
}

TEST_CASE("conversions say what they found, and where") {
  CHECK(error_of([] { value("[1]").as_integer("units"); }) ==
        "f:1:1: units must be an integer, not a list");
  CHECK(error_of([] { value("{a: 1}").as_bool("bias"); }) ==
        "f:1:1: bias must be true or false, not a map");
  CHECK(error_of([] { value("inf").as_real("rate"); }) ==
        "f:1:1: rate must be a number, not 'inf'");
  CHECK(error_of([] { value("~").as_string("name"); }) ==
        "f:1:1: name must be a word, not nothing");
  CHECK(error_of([] { value("[1, x]").as_shape("shape"); }) ==
        "f:1:5: shape must be an integer, not 'x'");
}

TEST_CASE("entries are made and taken") {
  Value map;
  map.insert("a", {"here", 0, 0}).value.kind = Value::Kind::kScalar;
  map.insert("b", {"here", 0, 0});
  CHECK(map.is_map());
  CHECK(map.insert("a", {"there", 0, 0}).at.file == "here");
  CHECK(map.keys() == std::vector<std::string>{"a", "b"});
  CHECK(map.take("a").is_scalar());
  CHECK(map.take("a").is_null());
  CHECK(map.keys() == std::vector<std::string>{"b"});
}

TEST_CASE("a Reader knows the keys it was asked for") {
  const Value map = value("{units: 3, name: d1, bias: null, rate: 0.5}");
  Reader reader(map, "layer 'd1'");
  CHECK(reader.get("units", 7) == 3);
  CHECK(reader.get("name", "none") == "d1");
  CHECK(!reader.get("bias", false));
  CHECK(reader.get_real("rate") == 0.5);
  CHECK(reader.get("axis", -1) == -1);
  CHECK(!reader.get_integer("other").has_value());
  CHECK_NOTHROW(reader.finish());
  CHECK(error_of([&] { reader.get("bias", true); }) ==
        "f:1:28: layer 'd1': bias is null; write false, or leave it out for true");
  CHECK(error_of([&] { reader.require("bias"); }) == "f:1:1: layer 'd1' needs the key 'bias'");
  Reader strict(map, "layer 'd1'");
  strict.find("unit");
  strict.find("unit");
  CHECK(error_of([&] { strict.finish(); }) ==
        "f:1:2: layer 'd1' has no key 'units'; nearest: 'unit'");
  Reader outer(value("{rate: 1, fit: {rate: 2, rates: 3}, compile: {sgd: {rate: 4}}}"), "the file");
  outer.find("fit");
  outer.find("compile");
  CHECK(error_of([&] { outer.finish(); }) ==
        "f:1:2: the file has no key 'rate'; there is 'fit.rate', 'compile.sgd.rate'");
}

#include "config/weights_map.h"

#include <doctest/doctest.h>

#include "config/yaml.h"
#include "support/errors.h"

using namespace meshwork;
using namespace meshwork::config;

namespace {

WeightsMap map_of(const std::string& text) {
  return read_weights_map(parse_yaml(text, "m.yaml"), "c.yaml");
}

std::string error_of(const std::string& text) {
  return test::error_of([&] { map_of(text); });
}

/// Of one rule, its key p.
std::string rule_error(const std::string& rule) { return error_of("tensors: {p: " + rule + "}"); }

std::string rearrange_error(const std::string& text, const std::string& to = "v") {
  return rule_error("{to: " + to + ", rearrange: '" + text + "'}");
}

}  // namespace

TEST_CASE("a map gives paths by the groups of its patterns, behind a prefix or without") {
  const WeightsMap map = map_of(
      "prefix: model.\n"
      "tensors:\n"
      "  h.(\\d+).(q|k).weight: {to: block_$1/$2/kernel, rearrange: out in -> in out, optional: "
      "true}\n"
      "leave_out: ['h.\\d+.mask']\n");
  REQUIRE(map.tensors.size() == 1);
  const TensorRule& rule = map.tensors[0];
  const std::vector<std::string> expected{"block_11/q/kernel"};
  CHECK(paths_for(rule, "h.11.q.weight") == expected);
  CHECK(paths_for(rule, "model.h.11.q.weight") == expected);
  CHECK(paths_for(rule, "model.model.h.11.q.weight").empty());
  CHECK(paths_for(rule, "h.11.q.weight2").empty());
  CHECK(rule.optional);
  CHECK(to_string(rule.at) == "m.yaml:3:3");
  CHECK(map.leave_out[0].pattern.matches("model.h.3.mask"));
}

TEST_CASE("a map gives numbers of slices by the groups of its patterns") {
  const WeightsMap map = map_of("tensors: {'h.(.*).w': {to: a, at: $1}, b: {to: b, at: 3}, c: c}");
  CHECK(index_for(map.tensors[0], "h.12.w") == 12);
  for (const char* name : {"h..w", "h.1x.w", "h.x.w", "h. 1.w", "h.99999999999999999999.w"}) {
    CAPTURE(name);
    CHECK(index_for(map.tensors[0], name) == -1);
  }
  CHECK(index_for(map.tensors[1], "b") == 3);
  CHECK(map.tensors[2].at_index.empty());
}

TEST_CASE("a rearrangement names the dimensions on both sides") {
  const WeightsMap map =
      map_of("tensors: {p: {to: [a, b], rearrange: ' in (part heads  width)->in 1 heads width'}}");
  const Rearrangement& rearrange = *map.tensors[0].rearrange;
  CHECK(rearrange.stored ==
        std::vector<std::vector<std::string>>{{"in"}, {"part", "heads", "width"}});
  CHECK(rearrange.variable == std::vector<std::string>{"in", "1", "heads", "width"});
  CHECK(rearrange.part == "part");
}

TEST_CASE("a mistake in a map is an error with its place") {
  CHECK(error_of("{}") == "2: m.yaml:1:1: weights_map needs the key 'tensors'");
  CHECK(error_of("tensors: [a]").starts_with("2: m.yaml:1:10: weights_map: tensors must be a map"));
  CHECK(
      error_of("{tensors: {}, leaveout: [a]}")
          .starts_with("2: m.yaml:1:15: weights_map has no key 'leaveout'; nearest: 'leave_out'"));
  CHECK(error_of("{tensors: {'(a': b}}")
            .starts_with("2: m.yaml:1:12: weights_map: '(a' is not a regular expression: "));
  CHECK(rule_error("{}") == "2: m.yaml:1:14: weights_map: 'p' needs the key 'to'");
  CHECK(rule_error("{to: []}") ==
        "2: m.yaml:1:19: weights_map: 'p': to names no variable; leave_out lists what is none");
  CHECK(rule_error("[a, b]") ==
        "2: m.yaml:1:11: weights_map: 'p': 2 variables, but rearrange says not how they lie in the "
        "tensor; give its parts a name before '->' alone, as in 'in (part out) -> in out'");
  CHECK(rearrange_error("(part a) -> a") ==
        "2: m.yaml:1:11: weights_map: 'p': '(part a) -> a' has 'part' before '->' alone, which "
        "counts the variables of a list");
  CHECK(test::contains(rule_error("{to: a, crop: x}"), "'p': crop is 'x', which must begin a"));
  CHECK(test::contains(rule_error("{to: a, crop: b, rearrange: (a b) -> a b}"),
                       "crop is 'b', which"));
  CHECK(rule_error("{to: [a, b], at: '1', rearrange: (part x) -> x}") ==
        "2: m.yaml:1:11: weights_map: 'p': at is '1', a place in one variable, but there are 2");
  const std::string place = "2: m.yaml:1:33: weights_map: 'p': rearrange: '";
  CHECK(rearrange_error("a b") ==
        place +
            "a b' has no one '->' between the dimensions in the file and those of the variable");
  CHECK(rearrange_error("a -> b -> c").starts_with(place + "a -> b -> c' has no one '->'"));
  CHECK(rearrange_error("a b -> (a b)") ==
        place + "a b -> (a b)' merges dimensions of the file; name each by itself behind '->'");
  CHECK(rearrange_error("a -> a b") == place + "a -> a b' has 'b' behind '->' alone");
  CHECK(rearrange_error("a a -> a") == place + "a a -> a' has 'a' twice on one side");
  CHECK(rearrange_error("(a -> a") == place + "(a -> a' has a bracket too many");
  CHECK(rearrange_error("((a) -> a") == place + "((a) -> a' has a bracket too many");
  CHECK(rearrange_error("() a -> a") == place + "() a -> a' has nothing in brackets; write 1");
  CHECK(rearrange_error("a-b -> a") ==
        place + "a-b -> a' has the word 'a-b'; a dimension is a name, or 1");
  CHECK(test::contains(rearrange_error("(x y a) -> a"), "both 'x' and 'y' before '->' alone; one"));
  const WeightsMap map = map_of("tensors: {'h.(.)': b_$2}");
  CHECK(test::error_of([&] {
          paths_for(map.tensors[0], "h.1");
        }).starts_with("2: m.yaml:1:11: weights_map: 'h.(.)' gives no 'b_$2' of 'h.1': "));
}

TEST_CASE("the maps of configs/ are found by their names, and can be read") {
  Value name = parse_yaml("gpt2", "c.yaml");
  CHECK(read_weights_map(name, "configs/c.yaml").file == "configs/weights/gpt2.yaml");
  for (const char* known : {"bert", "llama", "mixtral"}) {
    name.scalar = known;
    CHECK(read_weights_map(name, "elsewhere/c.yaml").tensors.size() > 5);
  }
  name.scalar = "gpt3";
  CHECK(test::error_of([&] { read_weights_map(name, "configs/c.yaml"); })
            .starts_with(
                "2: c.yaml:1:1: weights_map 'gpt3' is not described; nearest: 'gpt2'; looked "
                "for gpt3.yaml in 'configs/weights'"));
}

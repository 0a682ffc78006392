#include "config/weights_sizes.h"

#include <doctest/doctest.h>

#include "support/errors.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::config;
using meshwork::test::TempDirectory;

namespace {

/// What `--sizes-of` makes of a config.json, by a map of `sizes`, `removes` and `needs`.
std::vector<std::string> assignments(const TempDirectory& directory, const std::string& map,
                                     const std::string& json, const Overrides& overrides = {}) {
  test::write_text(directory.file("c.yaml"), "weights_map: {tensors: {}, " + map + "}\n");
  test::write_text(directory.file("config.json"), json);
  return assignments_of_sizes(directory.file("c.yaml"), overrides, directory.path());
}

std::string error_of(const TempDirectory& directory, const std::string& map,
                     const std::string& json) {
  return test::error_of([&] { assignments(directory, map, json); });
}

}  // namespace

TEST_CASE("sizes are expressions over the keys of a config.json; one that gives nothing is left") {
  const TempDirectory directory;
  const std::string map =
      "sizes: {model.params.width: $hidden_size, a.b: '$(hidden_size // heads)', c: $absent, "
      "d: $rope_theta, e: \"$(kind == 'some')\", f: '$(absent if absent != null else heads)'}, "
      "removes: {g: $tied, h: $absent}";
  const std::string json =
      R"({"hidden_size": 12, "heads": 4, "kind": "some", "rope": {"theta": 1e-06}, "tied": true})";
  using Words = std::vector<std::string>;
  CHECK(assignments(directory, map, json) ==
        Words{"model.params.width=12", "a.b=3", "d=1e-06", "e=true", "f=4", "g=null"});
  CHECK(assignments(directory, "sizes: {a: $n}, removes: {b: $t}", R"({"n": null, "t": false})") ==
        Words{});
}

TEST_CASE("a config.json is found in a folder, or named; another map may be") {
  const TempDirectory directory;
  test::write_text(directory.file("m.yaml"), "tensors: {}\nsizes: {b: $n}\n");
  const Overrides other{.mesh = "", .assignments = {"weights_map=" + directory.file("m.yaml")}};
  const std::vector<std::string> expected{"b=3"};
  CHECK(assignments(directory, "sizes: {a: $n}", R"({"n": 3})", other) == expected);
  CHECK(assignments_of_sizes(directory.file("c.yaml"), other, directory.file("config.json")) ==
        expected);
}

TEST_CASE("a model that a configuration cannot be is refused, and what is no config.json") {
  const TempDirectory directory;
  const std::string needs = "sizes: {a: $n}, needs: [\"$(act == 'silu' and bias != true)\"]";
  CHECK(error_of(directory, needs, R"({"act": "silu", "n": 3})").empty());
  CHECK(error_of(directory, needs, R"({"act": "gelu"})")
            .ends_with("config.json is none of this configuration, for which $(act == 'silu' and "
                       "bias != true) must hold: act is gelu, bias is not there"));
  CHECK(error_of(directory, "leave_out: []", "{}").ends_with("has no key 'sizes'"));
  CHECK(error_of(directory, "sizes: [a]", "{}")
            .ends_with("weights_map: sizes must be a map of keys and expressions, not a list"));
  CHECK(error_of(directory, "sizes: {a: $n}, needs: {a: b}", "{}")
            .ends_with("weights_map: needs must be a list of expressions, not a map"));
  CHECK(error_of(directory, "sizes: {a: $n}", "[1]")
            .ends_with("config.json: --sizes-of: a config.json is a map, not a list"));
  CHECK(error_of(directory, "sizes: {a: $n}", "{\"n\": 3").find("not valid YAML") !=
        std::string::npos);
  CHECK(error_of(directory, "sizes: {a: $n}", R"({"n": [3]})").find("sizes: 'a'") !=
        std::string::npos);
  test::write_text(directory.file("c.yaml"), "model: {}\n");
  CHECK(
      test::error_of([&] { assignments_of_sizes(directory.file("c.yaml"), {}, directory.path()); })
          .ends_with("c.yaml: --sizes-of: there is no weights_map, which says what the sizes are "
                     "called"));
}

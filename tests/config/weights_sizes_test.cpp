#include "config/weights_sizes.h"

#include <doctest/doctest.h>

#include "config/config.h"
#include "config/yaml.h"
#include "support/errors.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::config;
using meshwork::test::TempDirectory;

namespace {

/// What a config.json says of a configuration with a map of `sizes`, `removes` and `needs`.
std::vector<std::string> assignments(const TempDirectory& directory, const std::string& map,
                                     const std::string& json) {
  test::write_text(directory.file("config.json"), json);
  const Value root = parse_yaml("weights_map: {tensors: {}, " + map + "}", "c.yaml");
  return assignments_of_sizes(root, "c.yaml", directory.path());
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

TEST_CASE("a config.json is found in a folder, or named; assignments go on from its sizes") {
  const TempDirectory directory;
  test::write_text(directory.file("config.json"), R"({"n": 3, "classes": 5})");
  test::write_text(directory.file("m.yaml"),
                   "tensors: {}\nsizes: {model.layers.d.units: $classes}\n");
  const std::string text =
      "model:\n  inputs: {shape: [2]}\n  layers: [Dense: {units: 1, name: d}]\n"
      "weights_map: {tensors: {}, sizes: {model.layers.d.units: $n}}\n";
  const auto units = [&](const std::string& source, std::vector<std::string> assignments) {
    const Overrides overrides{
        .mesh = "", .assignments = std::move(assignments), .device = "", .sizes_of = source};
    const Config config = parse_config(text, directory.file("c.yaml"), overrides);
    return config.model.layers.at(0).layer.args.find("units")->value.scalar;
  };
  CHECK(units("", {}) == "1");
  CHECK(units(directory.path(), {}) == "3");
  CHECK(units(directory.file("config.json"), {}) == "3");
  CHECK(units(directory.path(), {"weights_map=m.yaml"}) == "5");
  CHECK(units(directory.path(), {"model.layers.d.units=7"}) == "7");
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
  CHECK(test::error_of([&] { assignments_of_sizes(Value{}, "c.yaml", directory.path()); }) ==
        "2: c.yaml: --sizes-of: there is no weights_map, which says what the sizes are called");
}

TEST_CASE("what a config.json beside weights says otherwise than the configuration") {
  const TempDirectory directory;
  const auto notes = [&](const std::string& params, const std::string& json) {
    const Value map = parse_yaml(
        "{tensors: {}, sizes: {model.params.width: $hidden_size, model.params.epsilon: $eps, "
        "model.params.tied: $tie, model.params.window: $window, model.params.context: "
        "$n_positions, "
        "model.layers.d.units: $classes, absent.key: $hidden_size, model.params.norm: "
        "\"$(model_type "
        "== 'q')\"}}",
        "m.yaml");
    test::write_text(directory.file("config.json"), json);
    const Value root = parse_yaml(
        "{model: {params: " + params + ", layers: [Dense: {name: d, units: 1}]}}", "c.yaml");
    auto lines = check_model_beside(read_weights_map(map, "c.yaml"), root,
                                    directory.file("model.safetensors"));
    for (std::string& line : lines) line = line.substr(line.find(" has ") + 5);
    return lines;
  };
  const auto way_out = "; --sizes-of " + directory.file("config.json") + " takes over its sizes";
  using Words = std::vector<std::string>;
  const std::string params =
      "{width: 8, epsilon: 1.0e-5, tied: false, window: null, context: 4, norm: false}";
  const std::string same =
      R"("hidden_size": 8.0, "eps": 0.00001, "tie": false, "window": null, "n_positions": 9)";
  CHECK(notes(params, R"({"model_type": "l", "classes": 3, )" + same + "}") == Words{});
  CHECK(notes(params, R"({"eps": 1e-6})") == Words{});  // another program's
  CHECK(notes(params, R"({"model_type": "q", "eps": 1e-6, "tie": true, "window": 5})") ==
        Words{"model.params.epsilon 1e-6 (eps is 1e-6), this one has 1.0e-5" + way_out,
              "model.params.tied true (tie is true), this one has false" + way_out,
              "model.params.window 5 (window is 5), this one has null" + way_out,
              "model.params.norm true (model_type is q), this one has false" + way_out});
}

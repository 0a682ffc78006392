#include "sharding/layout_map.h"

#include <doctest/doctest.h>

#include <functional>

#include "base/error.h"

using namespace meshwork;

namespace {

const Mesh kMesh{{"data", "model", "one"}, {2, 4, 1}};

config::LayoutRule rule(const std::string& pattern, std::vector<std::vector<std::string>> dims,
                        int line) {
  return {pattern, std::move(dims), {"c.yaml", line, 3}};
}

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kConfiguration);
    return error.what();
  }
  return "no error";
}

std::string found(const LayoutMap& map, const std::string& path, std::size_t rank) {
  const LayoutMatch match = map.find(path, rank, kMesh);
  return (match.rule ? match.rule->pattern : "-") + " " + to_string(match.layout, kMesh);
}

}  // namespace

TEST_CASE("an exact key wins, then patterns over the whole path, else replicated") {
  const LayoutMap map({rule("d1/kernel", {{}, {"model"}}, 1), rule("d./kernel", {{"model"}}, 2),
                       rule(".*bias", {{"data", "model"}}, 3)},
                      "layout_map");
  CHECK(found(map, "d1/kernel", 2) == "d1/kernel [null, model]");
  CHECK(found(map, "d2/kernel", 2) == "d./kernel [model, null]");
  CHECK(found(map, "block/d2/kernel", 2) == "- [null, null]");
  CHECK(found(map, "d2/kernels", 2) == "- [null, null]");
  CHECK(found(map, "x/bias", 1) == ".*bias [[data, model]]");
}

TEST_CASE("an axis of one device shards nothing") {
  const LayoutMap map({rule("w", {{"one"}, {"one", "model"}}, 1)}, "layout_map");
  CHECK(found(map, "w", 2) == "w [null, model]");
}

TEST_CASE("two patterns on one path are an error that lists both") {
  const LayoutMap map({rule("d1/.*", {}, 4), rule(".*kernel", {}, 7)}, "layout_map");
  CHECK(error_of([&] { map.find("d1/kernel", 2, kMesh); }) ==
        "c.yaml:7:3: layout_map: 'd1/kernel' is hit by 2 rules: 'd1/.*' (line 4), '.*kernel' (line "
        "7); "
        "narrow them, or write the path itself as a key");
}

TEST_CASE("too many entries, bad patterns, endless patterns") {
  const LayoutMap map({rule("b", {{"data"}, {"model"}}, 2)}, "layout_map");
  CHECK(error_of([&] { map.find("b", 1, kMesh); }) ==
        "c.yaml:2:3: layout_map: 'b' gives 2 entries [data, model] to 'b', which has 1 dimension");
  CHECK(error_of([] {
          LayoutMap bad({rule("d(1", {}, 5)}, "layout_map");
        }).starts_with("c.yaml:5:3: layout_map: 'd(1' is not a regular expression: missing"));
  const LayoutMap slow({rule("(a+)+", {}, 9)}, "layout_map");
  CHECK(error_of([&] {
          slow.find(std::string(60, 'a') + "c", 1, kMesh);
        }).find("cannot be tried") != std::string::npos);
}

TEST_CASE("a rule that hits nothing names what is near, or what it would hit as a part") {
  const std::vector<std::string> paths{"dense/kernel", "dense/bias", "dense_1/kernel"};
  const LayoutMap typo({rule("dense/kernal", {}, 3)}, "layout_map");
  const std::string near = error_of([&] { typo.check_all_hit(paths); });
  CHECK(near.starts_with("c.yaml:3:3: layout_map: 'dense/kernal' matches no"));
  CHECK(near.find("nearest: 'dense/kernel'") != std::string::npos);
  const LayoutMap part({rule("dense.*kern", {}, 3)}, "layout_map");
  const std::string inside = error_of([&] { part.check_all_hit(paths); });
  CHECK(inside.find("it would match a part of 'dense/kernel', 'dense_1/kernel'") !=
        std::string::npos);
  CHECK(inside.find("3.14") != std::string::npos);
  const LayoutMap good({rule("dense.*kernel", {}, 3)}, "layout_map");
  CHECK(good.check_all_hit(paths).empty());
}

TEST_CASE("a rule for what layers leave out is a note; unmatched_rules decides for the others") {
  using config::UnmatchedRules;
  const std::vector<std::string> paths{"dense/kernel", "conv2d/kernel"};
  const std::map<std::string, std::string> absent{
      {"bn/gamma", "scale: false"},         {"conv2d/bias", "use_bias: false"},
      {"conv2d_1/bias", "use_bias: false"}, {"conv2d_2/bias", "use_bias: false"},
      {"conv2d_3/bias", "use_bias: false"}, {"dense/bias", "use_bias: false"}};
  const LayoutMap map({rule("dense/bias", {{}}, 3), rule("conv2d.*bias", {{}}, 4),
                       rule("bn/gam+a", {{}}, 5), rule(".*kernel", {{}}, 6)},
                      "layout_map");
  for (const auto unmatched :
       {UnmatchedRules::kError, UnmatchedRules::kWarn, UnmatchedRules::kIgnore}) {
    CHECK(map.check_all_hit(paths, absent, unmatched) ==
          std::vector<std::string>{
              "c.yaml:3:3: layout_map: 'dense/bias' lays out nothing: the model leaves out "
              "'dense/bias' (use_bias: false)",
              "c.yaml:4:3: layout_map: 'conv2d.*bias' lays out nothing: the model leaves out "
              "'conv2d/bias' (use_bias: false), 'conv2d_1/bias' (use_bias: false), "
              "'conv2d_2/bias' (use_bias: false) and 1 more",
              "c.yaml:5:3: layout_map: 'bn/gam+a' lays out nothing: the model leaves out "
              "'bn/gamma' (scale: false)"});
  }
  const LayoutMap typo({rule("dense/bais", {{}}, 3)}, "layout_map");
  const std::string message =
      "c.yaml:3:3: layout_map: 'dense/bais' matches no variable and no layer output; nearest: "
      "'dense/bias'";
  CHECK(error_of([&] { typo.check_all_hit(paths, absent); }).starts_with(message));
  const auto warned = typo.check_all_hit(paths, absent, UnmatchedRules::kWarn);
  REQUIRE(warned.size() == 1);
  CHECK(warned[0] == error_of([&] { typo.check_all_hit(paths, absent); }));
  CHECK(typo.check_all_hit(paths, absent, UnmatchedRules::kIgnore).empty());
}

#include "interchange/mapped_weights.h"

#include <doctest/doctest.h>

#include "config/yaml.h"
#include "support/errors.h"

using namespace meshwork;

namespace {

/// A file of these tensors that nobody reads.
class Listing : public TensorFile {
 public:
  explicit Listing(std::vector<StoredTensor> tensors) : TensorFile("w") {
    set_tensors(std::move(tensors));
  }
  void read(const StoredTensor& /*tensor*/, const Region& /*region*/, const Shape& /*local*/,
            std::byte* /*to*/) const override {}
};

StoredTensor stored(const std::string& name, const Shape& shape, const std::string& dtype = "F32") {
  return {name, dtype, shape, 0, 0};
}

GlobalTensor variable(const std::string& path, const Shape& shape) {
  return {path, DType::kFloat32, shape};
}

std::vector<RenamedTensor> mapped(const std::string& map, std::vector<StoredTensor> tensors,
                                  const std::vector<GlobalTensor>& variables,
                                  bool may_lack = false) {
  return map_weights(config::read_weights_map(config::parse_yaml(map, "m.yaml"), "c.yaml"),
                     Listing(std::move(tensors)), variables, may_lack);
}

std::string error_of(const std::string& map, const std::vector<StoredTensor>& tensors,
                     const std::vector<GlobalTensor>& variables) {
  return test::error_of([&] { mapped(map, tensors, variables); });
}

constexpr const char* kPlain = "tensors: {a: x}\nleave_out: [mask]";

}  // namespace

TEST_CASE("parts of a fused tensor need not be equally large") {
  const auto found =
      mapped("tensors: {qkv: {to: [q, k, v], rearrange: (part heads width) in -> in heads width}}",
             {stored("qkv", {16, 5}, "BF16")},
             {variable("q", {5, 4, 2}), variable("k", {5, 2, 2}), variable("v", {5, 2, 2})});
  REQUIRE(found.size() == 3);
  CHECK(found[0].dimensions[0].begin == 0);
  CHECK(found[1].dimensions[0].begin == 8);
  CHECK(found[2].dimensions[0].begin == 12);
  CHECK(found[2].dimensions[0].factors.size() == 2);
  CHECK(found[2].dimensions[0].factors[0].extent == 2);
  CHECK(found[2].dimensions[0].factors[0].dimension == 1);
  CHECK(found[2].dimensions[1].factors[0].dimension == 0);
}

TEST_CASE("parts within heads are of one size") {
  const std::string map =
      "tensors: {qkv: {to: [q, k], rearrange: (heads part width) -> heads width}}";
  const auto found =
      mapped(map, {stored("qkv", {12})}, {variable("q", {3, 2}), variable("k", {3, 2})});
  CHECK(found[1].dimensions[0].begin == 0);
  CHECK(found[1].dimensions[0].factors[1].dimension == StoredDimension::Factor::kFixed);
  CHECK(found[1].dimensions[0].factors[1].index == 1);
  CHECK(error_of(map, {stored("qkv", {12})}, {variable("q", {3, 2}), variable("k", {2, 2})}) ==
        "3: w: 'qkv', float32[12], is rearranged by '(heads part width) -> heads width' "
        "(m.yaml:1:11), but that gives no 'k', float32[2, 2]: (heads part width) is 12 there, 8 in "
        "the model");
}

TEST_CASE("tensors that are slices of one variable") {
  const std::string map = "tensors: {'e(.+)': {to: x, at: $1, rearrange: out in -> in out}}";
  const std::vector<GlobalTensor> x{variable("x", {3, 5, 2})};
  const std::vector<StoredTensor> all{stored("e1", {2, 5}), stored("e0", {2, 5}),
                                      stored("e2", {2, 5})};
  const auto found = mapped(map, all, x);
  REQUIRE(found.size() == 3);
  CHECK(found[1].slice == 1);
  CHECK(found[1].stored == "e1");
  CHECK(found[0].variable.shape == Shape{3, 5, 2});
  CHECK(found[0].dimensions[0].factors[0].dimension == 1);
  CHECK(error_of(map, {all[0], all[2]}, x) ==
        "3: w: no tensor goes to 'x', float32[3, 5, 2], at 0, though 'e1' does (m.yaml:1:11)");
  CHECK(error_of(map, {all[0], all[1], all[2], stored("e3", {2, 5})}, x) ==
        "3: w: 'e3', float32[2, 5], goes to 'x', float32[3, 5, 2], at '3' (m.yaml:1:11), which is "
        "none of its 3");
  CHECK(test::contains(error_of(map, {all[0], all[1], all[2], stored("ex", {2, 5})}, x),
                       "at 'x' (m.yaml:1:11), which is none of its 3"));
  CHECK(error_of(map, {all[0], all[1], all[2], stored("e01", {2, 5})}, x) ==
        "3: w: both 'e01' and 'e1' go to 'x at 1' (m.yaml:1:11); add one of them to leave_out");
  CHECK(test::contains(error_of(map, {all[0], all[1], stored("e2", {2, 4})}, x),
                       "but that gives no 'x', float32[5, 2]: in is 4 there, 5 in the model"));
  CHECK(test::contains(
      error_of("tensors: {a: {to: x, at: 0}}", {stored("a", {})}, {variable("x", {})}),
      "which is none of its 0"));
}

TEST_CASE("the first rows do where the map says so") {
  const std::string map = "tensors: {a: {to: x, rearrange: rows b -> rows b, crop: rows}}";
  CHECK(mapped(map, {stored("a", {9, 2})}, {variable("x", {4, 2})})[0]
            .dimensions[0]
            .factors[0]
            .extent == 4);
  CHECK(test::contains(error_of(map, {stored("a", {3, 2})}, {variable("x", {4, 2})}),
                       ": rows is 3 there, 4 in the model"));
  CHECK(test::contains(error_of(map, {stored("a", {9, 3})}, {variable("x", {4, 2})}),
                       ": b is 3 there, 2 in the model"));
}

TEST_CASE("a tensor that nothing names, and a variable that nothing fills") {
  CHECK(
      error_of(kPlain, {stored("a", {2}), stored("b", {3}, "F16")}, {variable("x", {2})}) ==
      "3: w: 'b', float16[3], matches no pattern of m.yaml:1:1; write one, or add it to leave_out");
  CHECK(error_of(kPlain, {stored("a", {2})}, {variable("x", {2}), variable("y", {4})}) ==
        "3: w: no tensor goes to 'y', float32[4]; the file has none that m.yaml:1:1 gives it; make "
        "the model one that the file is of, or write a pattern");
  CHECK(mapped(kPlain, {stored("a", {2}), stored("mask", {3}, "BOOL")}, {variable("x", {2})})
            .size() == 1);
}

TEST_CASE("variables that a file may lack are left out where they have values") {
  const std::string map = "tensors: {a: x}\nmay_lack: ['head/.*']";
  const std::vector<GlobalTensor> variables{variable("x", {2}), variable("head/kernel", {3})};
  CHECK(mapped(map, {stored("a", {2})}, variables, true).size() == 1);
  CHECK(error_of(map, {stored("a", {2})}, variables)
            .starts_with("3: w: no tensor goes to 'head/kernel', float32[3]; the file has none"));
  CHECK(test::contains(
      test::error_of([&] { mapped("tensors: {a: x}", {stored("a", {2})}, variables, true); }),
      "no tensor goes to 'head/kernel'"));
}

TEST_CASE("variables that may keep their values do where nothing fits them") {
  const auto keeps_head = [](const std::string& path) { return path.starts_with("head/"); };
  const auto taken = [&](const std::vector<StoredTensor>& tensors,
                         const std::vector<GlobalTensor>& variables) {
    const auto map = config::parse_yaml("tensors: {a: x, h: head/kernel}", "m.yaml");
    return map_weights(config::read_weights_map(map, "c.yaml"), Listing(tensors), variables, false,
                       keeps_head);
  };
  const GlobalTensor x = variable("x", {2}), head = variable("head/kernel", {3});
  CHECK(taken({stored("a", {2}), stored("h", {3})}, {x, head}).size() == 2);
  CHECK(taken({stored("a", {2}), stored("h", {5})}, {x, head}).size() == 1);
  CHECK(taken({stored("a", {2}), stored("h", {3, 1})}, {x, head}).size() == 1);
  CHECK(taken({stored("a", {2})}, {x, head}).size() == 1);
  CHECK(taken({stored("a", {2}), stored("h", {3})}, {x}).size() == 1);
  CHECK(test::contains(test::error_of([&] {
                         taken({stored("a", {4}), stored("h", {5})}, {x, head});
                       }),
                       "'a', float32[4], goes to 'x'"));
}

TEST_CASE("what a map says twice, or of what the model has not") {
  CHECK(error_of("tensors: {'a.*': x, '.*b': y}", {stored("ab", {2})},
                 {variable("x", {2}), variable("y", {2})})
            .starts_with("3: w: 3 tensors do not fit:\n  'ab' matches both 'a.*' (m.yaml:1:11) and "
                         "'.*b' (m.yaml:1:21); make one narrower\n"));
  CHECK(
      error_of("tensors: {'a|b': x}", {stored("a", {2}), stored("b", {2})}, {variable("x", {2})}) ==
      "3: w: both 'a' and 'b' go to 'x' (m.yaml:1:11); add one of them to leave_out");
  CHECK(error_of("tensors: {a: dens/kernel}", {stored("a", {2})}, {variable("dense/kernel", {2})})
            .starts_with("3: w: 2 tensors do not fit:\n  'a', float32[2], goes to 'dens/kernel' "
                         "(m.yaml:1:11), which the model has not; nearest: 'dense/kernel'\n"));
  const std::string optional = "tensors: {a: x, b: {to: y, optional: true}}";
  CHECK(mapped(optional, {stored("a", {2}), stored("b", {2})}, {variable("x", {2})}).size() == 1);
}

TEST_CASE("shapes and types that do not fit") {
  CHECK(error_of(kPlain, {stored("a", {2, 3})}, {variable("x", {3, 2})}) ==
        "3: w: 'a', float32[2, 3], goes to 'x', float32[3, 2] (m.yaml:1:11); give the model its "
        "size (--sizes-of), or rearrange the tensor, as in 'out in -> in out'");
  const std::string turned = "tensors: {a: {to: x, rearrange: out in -> in out}}";
  CHECK(mapped(turned, {stored("a", {2, 3})}, {variable("x", {3, 2})}).size() == 1);
  CHECK(
      error_of(turned, {stored("a", {2, 3})}, {variable("x", {2, 3})}) ==
      "3: w: 'a', float32[2, 3], is rearranged by 'out in -> in out' (m.yaml:1:11), but that gives "
      "no 'x', float32[2, 3]: out is 2 there, 3 in the model");
  CHECK(test::contains(error_of(turned, {stored("a", {6})}, {variable("x", {2, 3})}),
                       "gives no 'x'"));
  CHECK(test::contains(error_of(turned, {stored("a", {2, 3})}, {variable("x", {6})}),
                       "gives no 'x'"));
  CHECK(error_of(kPlain, {stored("a", {2}, "I64")}, {variable("x", {2})}) ==
        "3: w: 'a', int64[2], goes to 'x' (m.yaml:1:11); only float32, float16 and bfloat16 are "
        "read: "
        "add it to leave_out");
}

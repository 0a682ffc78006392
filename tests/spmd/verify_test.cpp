#include <doctest/doctest.h>

#include <string>

#include "base/check.h"
#include "spmd/partition.h"
#include "support/ops_by_name.h"
#include "support/text/layouts.h"

using namespace meshwork;

namespace {

const Mesh kMesh{{"data", "model"}, {2, 4}};

/// Two matrices with these layouts, and what a line computes of them.
void verify_line(const std::string& x, const std::string& y, const std::string& line) {
  const std::string text =
      R"(%0 = input() {name="x", dtype="float32", shape=[8, 8]} : float32[8, 8]  # forward  ; )" +
      x +
      R"(
%1 = input() {name="y", dtype="float32", shape=[8, 8]} : float32[8, 8]  # forward  ; )" +
      y + "\n%2 = " + line + "\n";
  verify(testing::parse_partitioned(text, kMesh, testing::op_of), kMesh);
}

const std::string kProduct =
    R"(einsum(%0, %1) {equation="m k, k n -> m n"} : float32[8, 8]  # forward  ; )";

}  // namespace

TEST_CASE("a result is partial over what shards the factors that it sums") {
  verify_line("[data, model]", "[model, null]", kProduct + "[data, null] partial(model)");
  CHECK_THROWS_AS(verify_line("[data, model]", "[model, null]", kProduct + "[data, null]"),
                  CheckFailure);
  CHECK_THROWS_AS(
      verify_line("[data, null]", "[null, null]", kProduct + "[data, null] partial(model)"),
      CheckFailure);
  CHECK_THROWS_AS(
      verify_line("[data, model]", "[model, null]", kProduct + "[data, null] partial_max(model)"),
      CheckFailure);
}

TEST_CASE("a partial operand stands where its op is linear in it") {
  const std::string partial = "[null, null] partial(model)";
  const std::string all = "[null, null]";
  const auto line = [](const std::string& op) {
    return op + "(%0, %1) : float32[8, 8]  # forward  ; ";
  };
  // One factor of a product.
  verify_line(partial, all, line("multiply") + partial);
  CHECK_THROWS_AS(verify_line(partial, partial, line("multiply") + partial), CheckFailure);
  CHECK_THROWS_AS(verify_line(partial, all, line("multiply") + all), CheckFailure);
  // What is divided.
  verify_line(partial, all, line("divide") + partial);
  CHECK_THROWS_AS(verify_line(all, partial, line("divide") + partial), CheckFailure);
  // All that is added up.
  verify_line(partial, partial, line("add") + partial);
  CHECK_THROWS_AS(verify_line(partial, all, line("add") + partial), CheckFailure);
  // No maximum.
  CHECK_THROWS_AS(verify_line(partial, partial, line("maximum") + partial), CheckFailure);
}

TEST_CASE("a partial maximum passes what keeps the order of numbers") {
  const std::string maxima = "[null, null] partial_max(model)";
  const std::string all = "[null, null]";
  const std::string cast = R"(cast(%0) {dtype="bfloat16"} : bfloat16[8, 8]  # forward  ; )";
  verify_line(maxima, all, cast + maxima);
  CHECK_THROWS_AS(verify_line(maxima, all, cast + "[null, null] partial(model)"), CheckFailure);
  CHECK_THROWS_AS(verify_line(maxima, all, cast + all), CheckFailure);
  const std::string scaled = "multiply(%0, %1) : float32[8, 8]  # forward  ; ";
  CHECK_THROWS_AS(verify_line(maxima, all, scaled + maxima), CheckFailure);
}

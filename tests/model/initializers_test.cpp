#include <doctest/doctest.h>

#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "config/yaml.h"
#include "model/initializers/initializer.h"
#include "ops/ops.h"

using namespace meshwork;

namespace {

InitialValue initial(const std::string& text, const Shape& shape, std::uint64_t seed = 5,
                     const std::string& path = "d/kernel") {
  const config::Value value = config::parse_yaml(text, "c.yaml");
  return read_initializer(value)({.shape = shape, .seed = seed, .path = path});
}

std::string error_of(const std::string& text, const Shape& shape) {
  try {
    initial(text, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("fans as in Keras") {
  const auto fans = [](const Shape& shape) {
    const Fans result = compute_fans(shape);
    return Shape{result.in, result.out};
  };
  CHECK(fans({}) == Shape{1, 1});
  CHECK(fans({7}) == Shape{7, 7});
  CHECK(fans({784, 200}) == Shape{784, 200});
  CHECK(fans({3, 3, 16, 32}) == Shape{144, 288});
}

TEST_CASE("null is Keras's None: glorot_uniform, whatever the default") {
  const config::Value arguments = config::parse_yaml("{a: null, b: ones}", "c.yaml");
  config::Reader args(arguments, "layer 'd'");
  const Shape shape = {784, 200};
  const std::string path = "d/kernel";
  const InitRequest request{.shape = shape, .seed = 5, .path = path};
  CHECK(read_initializer(args, "a", "zeros")(request).op == &ops::kRandomUniform);
  CHECK(read_initializer(args, "b", "zeros")(request).attrs.real("value") == 1);
  CHECK(read_initializer(args, "c", "zeros")(request).attrs.real("value") == 0);
}

TEST_CASE("variance scaling and its special cases") {
  constexpr double kCut = 0.87962566103423978;
  const Shape shape = {784, 200};
  const InitialValue glorot = initial("glorot_uniform", shape);
  CHECK(glorot.op == &ops::kRandomUniform);
  CHECK(glorot.attrs.real("high") == doctest::Approx(std::sqrt(6.0 / 984)));
  CHECK(glorot.attrs.real("low") == -glorot.attrs.real("high"));
  CHECK(glorot.attrs.integers("shape") == shape);
  const InitialValue glorot_normal = initial("GlorotNormal", shape);
  CHECK(glorot_normal.op == &ops::kTruncatedNormal);
  CHECK(glorot_normal.attrs.real("stddev") == doctest::Approx(std::sqrt(2.0 / 984) / kCut));
  CHECK(initial("he_normal", shape).attrs.real("stddev") ==
        doctest::Approx(std::sqrt(2.0 / 784) / kCut));
  CHECK(initial("HeUniform", shape).attrs.real("high") == doctest::Approx(std::sqrt(6.0 / 784)));
  CHECK(initial("lecun_uniform", shape).attrs.real("high") ==
        doctest::Approx(std::sqrt(3.0 / 784)));
  CHECK(initial("LecunNormal", shape).attrs.real("stddev") ==
        doctest::Approx(std::sqrt(1.0 / 784) / kCut));
  const InitialValue plain = initial(
      "VarianceScaling: {scale: 3, mode: fan_out, distribution: untruncated_normal}", shape);
  CHECK(plain.op == &ops::kRandomNormal);
  CHECK(plain.attrs.real("stddev") == doctest::Approx(std::sqrt(3.0 / 200)));
  CHECK(initial("VarianceScaling: {distribution: normal}", shape).op == &ops::kTruncatedNormal);
}

TEST_CASE("the others, in both spellings") {
  CHECK(initial("zeros", {2}).attrs.real("value") == 0.0);
  CHECK(initial("Ones", {2}).attrs.real("value") == 1.0);
  CHECK(initial("Constant: {value: 0.25}", {2}).attrs.real("value") == 0.25);
  CHECK(initial("random_normal", {2}).attrs.real("stddev") == 0.05);
  CHECK(initial("TruncatedNormal: {mean: 1, stddev: 2}", {2}).attrs.real("mean") == 1.0);
  CHECK(initial("RandomUniform: {minval: -2, maxval: 3}", {2}).attrs.real("low") == -2.0);
  CHECK(initial("identity: {gain: 2}", {2, 3}).op == &ops::kIdentityMatrix);
  CHECK(initial("orthogonal", {2, 3, 4}).attrs.real("gain") == 1.0);
}

TEST_CASE("keys of random streams come from seed and path") {
  const auto key = [](const std::string& text, std::uint64_t seed, const std::string& path) {
    return initial(text, {3, 3}, seed, path).attrs.integer("key");
  };
  CHECK(key("he_normal", 5, "a") == static_cast<std::int64_t>(random_key(5, "a")));
  CHECK(key("he_normal", 6, "a") != key("he_normal", 5, "a"));
  CHECK(key("he_normal", 5, "b") != key("he_normal", 5, "a"));
  CHECK(key("HeNormal: {seed: 9}", 5, "a") == key("HeNormal: {seed: 9}", 6, "a"));
  CHECK(key("orthogonal: {seed: 9}", 5, "a") == static_cast<std::int64_t>(random_key(9, "a")));
}

TEST_CASE("errors of initializers") {
  CHECK(error_of("glorot_unifrom", {2, 3}) ==
        "c.yaml:1:1: there is no initializer 'glorot_unifrom'; nearest: 'glorot_uniform', "
        "'GlorotUniform'");
  CHECK(error_of("Identity", {2}) ==
        "c.yaml:1:1: initializer Identity is for matrices, not for 'd/kernel' of shape [2]");
  CHECK(error_of("Orthogonal", {2}) ==
        "c.yaml:1:1: initializer Orthogonal needs two dimensions or more, not 'd/kernel' of shape "
        "[2]");
  CHECK(error_of("VarianceScaling: {mode: fan_inn}", {2, 3}) ==
        "c.yaml:1:25: initializer VarianceScaling: mode 'fan_inn' is unknown; nearest: 'fan_in', "
        "'fan_out'");
  CHECK(error_of("VarianceScaling: {scale: 0}", {2, 3}) ==
        "c.yaml:1:26: initializer VarianceScaling: scale is 0; give more than 0");
  CHECK(error_of("RandomNormal: {stddev: -1}", {2, 3}) ==
        "c.yaml:1:24: initializer RandomNormal: stddev is -1; give 0 or more");
}

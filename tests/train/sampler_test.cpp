// How tokens are chosen; the same rules as keras-hub's samplers.
#include "train/sampler.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "support/errors.h"

using namespace meshwork;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// How often each token is chosen by draws that lie evenly in [0, 1).
std::map<int, double> shares(const Sampler& sampler, const std::vector<float>& logits) {
  constexpr int kDraws = 10000;
  std::map<int, double> found;
  for (int i = 0; i < kDraws; ++i) {
    found[choose_token(sampler, logits, (i + 0.5) / kDraws).value()] += 1.0 / kDraws;
  }
  return found;
}

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

}  // namespace

TEST_CASE("greedy takes the most probable token, the first of several") {
  const Sampler greedy = make_sampler({.name = "greedy"});
  CHECK(choose_token(greedy, std::vector<float>{1, 3, 2}, 0.99) == 1);
  CHECK(choose_token(greedy, std::vector<float>{1, 3, 3}, 0.99) == 1);
  CHECK(choose_token(greedy, std::vector<float>{-kInfinity, -5}, 0) == 1);
}

TEST_CASE("tokens are drawn by their probabilities") {
  const std::vector<float> logits = logs({0.1, 0.4, 0.2, 0.3});
  const auto random = shares(make_sampler({.name = "random"}), logits);
  CHECK(random.at(0) == doctest::Approx(0.1).epsilon(1e-3));
  CHECK(random.at(1) == doctest::Approx(0.4).epsilon(1e-3));
  CHECK(random.at(2) == doctest::Approx(0.2).epsilon(1e-3));
  CHECK(random.at(3) == doctest::Approx(0.3).epsilon(1e-3));
  // p^2, normalized: 0.01, 0.16, 0.04, 0.09 of 0.3
  const auto cold = shares(make_sampler({.name = "random", .temperature = 0.5}), logits);
  CHECK(cold.at(1) == doctest::Approx(0.16 / 0.3).epsilon(1e-3));
  CHECK(cold.at(0) == doctest::Approx(0.01 / 0.3).epsilon(1e-2));
  // Large logits do not overflow.
  CHECK(shares(make_sampler({.name = "random"}), {1e30F, 1}).size() == 1);
}

TEST_CASE("top_k draws from the most probable tokens alone") {
  const std::vector<float> logits = logs({0.1, 0.4, 0.2, 0.3});
  const auto two = shares(make_sampler({.name = "top_k", .k = 2}), logits);
  CHECK(two.size() == 2);
  CHECK(two.at(1) == doctest::Approx(0.4 / 0.7).epsilon(1e-3));
  CHECK(two.at(3) == doctest::Approx(0.3 / 0.7).epsilon(1e-3));
  CHECK(make_sampler({}).k == 5);
  CHECK(shares(make_sampler({.name = "top_k", .k = 9}), logits).size() == 4);
  // Of equals those with lower numbers.
  CHECK(shares(make_sampler({.k = 2}), {0, 0, 0}).count(2) == 0);
}

TEST_CASE("top_p draws from as few tokens as have that probability together") {
  const std::vector<float> logits = logs({0.1, 0.4, 0.2, 0.3});
  CHECK(shares(make_sampler({.p = 0.39}), logits).size() == 1);
  CHECK(shares(make_sampler({.p = 0.45}), logits).size() == 2);
  CHECK(shares(make_sampler({.p = 0.75}), logits).size() == 3);
  CHECK(shares(make_sampler({.p = 1.0}), logits).size() == 4);
  CHECK(shares(make_sampler({.k = 2, .p = 0.95}), logits).size() == 2);
  CHECK(make_sampler({.name = "top_p"}).p == 0.1);
}

TEST_CASE("scores that are no numbers choose nothing") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(!choose_token({}, std::vector<float>{1, nan, 2}, 0.5));
  CHECK(!choose_token({}, std::vector<float>{-kInfinity, -kInfinity}, 0.5));
  CHECK(!choose_token({}, std::vector<float>{1, kInfinity}, 0.5));
  CHECK(choose_token({}, std::vector<float>{-kInfinity, 1}, 0.0) == 1);
}

TEST_CASE("draws depend on seed, sequence and place alone, and are uniform") {
  CHECK(token_draw(1, 2, 3) == token_draw(1, 2, 3));
  CHECK(token_draw(1, 2, 3) != token_draw(2, 2, 3));
  CHECK(token_draw(1, 2, 3) != token_draw(1, 3, 3));
  CHECK(token_draw(1, 2, 3) != token_draw(1, 2, 4));
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double draw = token_draw(7, i % 10, i / 10);
    CHECK((draw >= 0 && draw < 1));
    sum += draw / 1000;
  }
  CHECK(sum == doctest::Approx(0.5).epsilon(0.05));
}

TEST_CASE("words of samplers that do not go together") {
  const auto error = [](const SamplerWords& words) {
    return meshwork::test::error_of([&] { make_sampler(words); });
  };
  CHECK(error({.name = "greedy", .temperature = 0.5}) ==
        "2: the sampler greedy takes no --temperature; leave one of them out");
  CHECK(error({.name = "random", .k = 3}) ==
        "2: the sampler random takes no --k; leave one of them out");
  CHECK(error({.name = "top_k", .p = 0.3}) ==
        "2: the sampler top_k takes no --p; leave one of them out");
  CHECK(error({.temperature = 0.0}) ==
        "2: --temperature must be a number above 0, not 0; for the most probable token alone take "
        "--sampler greedy");
  CHECK(error({.k = 0}) == "2: --k must be 1 or more, not 0");
  CHECK(error({.p = 1.5}) == "2: --p must be above 0 and at most 1, not 1.5");
  CHECK(error({.name = "greedy"}) == "");
}

#include "train/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "base/rng.h"

namespace meshwork {
namespace {

constexpr std::int64_t kDefaultK = 5;
constexpr double kDefaultP = 0.1;

void check_numbers(const SamplerWords& words) {
  if (words.temperature && !(*words.temperature > 0 && std::isfinite(*words.temperature))) {
    fail(
        "--temperature must be a number above 0, not {}; for the most probable token alone take "
        "--sampler greedy",
        *words.temperature);
  }
  if (words.k && *words.k < 1) fail("--k must be 1 or more, not {}", *words.k);
  if (words.p && !(*words.p > 0 && *words.p <= 1)) {
    fail("--p must be above 0 and at most 1, not {}", *words.p);
  }
}

/// Refuses an option that a sampler does not know.
void refuse(const std::string& sampler, bool is_given, const char* option) {
  if (is_given) fail("the sampler {} takes no {}; leave one of them out", sampler, option);
}

/// The numbers of the tokens to draw from: all in order, or the most probable ones first.
std::vector<std::int32_t> candidates(const Sampler& sampler, std::span<const float> logits) {
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto is_before = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  const auto all = static_cast<std::int64_t>(tokens.size());
  const std::int64_t kept = sampler.k == 0 ? all : std::min(sampler.k, all);
  if (kept < all) {
    std::partial_sort(tokens.begin(), tokens.begin() + kept, tokens.end(), is_before);
    tokens.resize(static_cast<std::size_t>(kept));
  } else if (sampler.p < 1) {
    std::sort(tokens.begin(), tokens.end(), is_before);
  }
  return tokens;
}

}  // namespace

Sampler make_sampler(const SamplerWords& words) {
  check_numbers(words);
  const std::string name = !words.name.empty() ? words.name : words.p ? "top_p" : "top_k";
  Sampler sampler{.temperature = words.temperature.value_or(1)};
  if (name == "greedy") {
    refuse(name, words.temperature.has_value(), "--temperature");
    sampler.is_greedy = true;
  }
  if (name == "greedy" || name == "random") refuse(name, words.k.has_value(), "--k");
  if (name != "top_p") refuse(name, words.p.has_value(), "--p");
  if (name == "top_k") sampler.k = words.k.value_or(kDefaultK);
  if (name == "top_p") {
    sampler.k = words.k.value_or(0);
    sampler.p = words.p.value_or(kDefaultP);
  }
  return sampler;
}

std::optional<std::int32_t> choose_token(const Sampler& sampler, std::span<const float> logits,
                                         double draw) {
  float most = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    if (std::isnan(logit)) return std::nullopt;
    most = std::max(most, logit);
  }
  if (!std::isfinite(most)) return std::nullopt;
  if (sampler.is_greedy) {
    return static_cast<std::int32_t>(std::find(logits.begin(), logits.end(), most) -
                                     logits.begin());
  }
  const auto weight = [&](float logit) {
    return std::exp((static_cast<double>(logit) - most) / sampler.temperature);
  };
  std::vector<std::int32_t> tokens = candidates(sampler, logits);
  std::vector<double> sums;  // of the weights up to each
  for (const std::int32_t token : tokens) {
    const double before = sums.empty() ? 0 : sums.back();
    sums.push_back(before + weight(logits[static_cast<std::size_t>(token)]));
  }
  if (sampler.p < 1) {
    // As in keras-hub the probabilities are those among all tokens, not among the k kept ones.
    double all = 0;
    for (const float logit : logits) all += weight(logit);
    const auto first_above = std::upper_bound(sums.begin(), sums.end(), sampler.p * all);
    const auto kept = std::min<std::ptrdiff_t>(first_above - sums.begin() + 1, std::ssize(sums));
    sums.resize(static_cast<std::size_t>(kept));
  }
  const auto drawn = std::upper_bound(sums.begin(), sums.end(), draw * sums.back());
  const auto place = std::min<std::ptrdiff_t>(drawn - sums.begin(), std::ssize(sums) - 1);
  return tokens[static_cast<std::size_t>(place)];
}

double token_draw(std::uint64_t seed, std::int64_t sequence, std::int64_t index) {
  const auto bits = philox(random_key(seed, "generate"), static_cast<std::uint64_t>(sequence),
                           static_cast<std::uint64_t>(index));
  const std::uint64_t word = (static_cast<std::uint64_t>(bits[0]) << 32U) | bits[1];
  return static_cast<double>(word >> 11U) * 0x1p-53;
}

}  // namespace meshwork

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace meshwork {

/// How a token is chosen by its scores: keras-hub's samplers. Greedy takes the most probable one,
/// the first of several; others draw one by its probability, softmax(logits / temperature), among
/// all, or among some of the most probable.
struct Sampler {
  bool is_greedy = false;
  double temperature = 1;  ///< above 0
  std::int64_t k = 0;      ///< so many of the most probable; 0: all
  double p = 1;            ///< of these as few as have more than this probability together
};

/// The sampler of a name of keras-hub, with its defaults: "greedy", "random", "top_k" (k 5),
/// "top_p" (p 0.1, of all). What is not given takes the default; an empty name is top_p where p is
/// given, else top_k. Throws Error for what does not go together.
struct SamplerWords {
  std::string name = {};
  std::optional<double> temperature = {};
  std::optional<std::int64_t> k = {};
  std::optional<double> p = {};
};
Sampler make_sampler(const SamplerWords& words);

/// The token that `draw`, uniform in [0, 1), chooses by logits. nullopt where one is NaN, or none
/// is greater than minus infinity. Among equals the lower number comes first.
std::optional<std::int32_t> choose_token(const Sampler& sampler, std::span<const float> logits,
                                         double draw);

/// Uniform in [0, 1), for token `index` of a sequence; it depends on these three alone.
double token_draw(std::uint64_t seed, std::int64_t sequence, std::int64_t index);

}  // namespace meshwork

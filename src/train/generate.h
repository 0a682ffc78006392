#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/decoder.h"
#include "train/evaluate.h"
#include "train/sampler.h"

namespace meshwork {

/// What is to be generated.
struct Generation {
  std::vector<std::vector<std::int32_t>> prompts = {};  ///< of each sequence; none is empty
  std::int64_t most_tokens = 200;                       ///< behind each prompt
  Sampler sampler = {};
  std::uint64_t seed = 0;
  std::int64_t batch = 8;  ///< sequences that are generated at a time, at most
  /// Tokens to choose from, the first ones; 0: all of the model. There are no more than the model
  /// gives scores for, which must be the first `least` at least.
  std::int64_t numbers = 0;
  std::int64_t least = 0;
  DecoderFacts model = {};  ///< as prepare_generate() finds it
};

/// Called on the first device, for each token in its order within a sequence. True ends the
/// sequence.
using TokenListener =
    std::function<bool(std::int64_t sequence, std::int64_t index, std::int32_t token)>;

/// Adds the programs that generate to the job, which may be without data, and says in `generation`
/// what the model is and how many numbers there are. Throws what check_decodes() throws, and Errors
/// for tokens that the model does not know, or where it gives scores for less than `least`.
void prepare_generate(Job& job, Generation& generation);

/// Generates all sequences; all devices of the job call it. A token depends on the model, what
/// stands before it in its sequence, the seed, the number of the sequence and its own: not on the
/// mesh, the batch or the other sequences, but for how sums are rounded.
///
/// Where a sequence has filled the context of the model, the last half of it is read anew, and it
/// goes on behind that. Of a prompt that is longer than the context, the end is read.
void generate(const Job& job, const World& world, const GivenWeights& weights,
              const Generation& generation, const TokenListener& listener);

}  // namespace meshwork

#pragma once

#include "model/model.h"

namespace meshwork {

/// The program that reads a part of each of `batch` sequences and says what comes next.
///
/// Inputs, all int32: "tokens" [batch, part], "start" [batch], the place of the first of them in
/// its sequence, and "last" [batch], the one of the part after which a token is to come. The part
/// is what the signature gives for its only input; a sequence has as many places as the model's
/// input. Places from 0 up to `start` must have been given before. What stands behind "last" does
/// not matter, and may go beyond the end.
///
/// Outputs: "scores" [batch, numbers], float32, what the model puts out for that token, whole.
/// Variables are those of the model, then caches. Throws Error where a model cannot be used so, see
/// check_decodes().
Graph build_decoder(const config::Config& config, const Signature& signature, std::int64_t batch,
                    ModelFacts* facts = nullptr);

/// What generating needs to know of a model.
struct DecoderFacts {
  std::int64_t context = 0;        ///< tokens that it sees at most
  std::int64_t numbers = 0;        ///< of tokens, that it gives scores for
  bool are_probabilities = false;  ///< its scores; else logits
};

/// Throws Error with its place and the way out unless the model takes one sequence of tokens and
/// gives a score for each token that may come next, none of which depends on tokens behind it or on
/// others but through what layers remember.
DecoderFacts check_decodes(const config::Config& config);

/// The signature of a part of so many tokens.
Signature part_signature(const config::Config& config, std::int64_t tokens);

}  // namespace meshwork

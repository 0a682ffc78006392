#pragma once

#include "model/scope.h"

namespace meshwork {

/// What keeps the tokens of a part of a sequence from being computed each by itself.
struct TokenMix {
  ValueId node = kNoValue;
  enum class Kind {
    kMixes,     ///< its result has something of several tokens
    kIsPlaced,  ///< another operand has something for each place in the part
  };
  Kind kind = Kind::kMixes;
};

/// Follows the dimension of tokens, by the dimension rules of ops, from values that have it as
/// dimension 1 to a result; nullopt: the result has it, too, and each of its elements comes from
/// one token alone, but for what `write_rows` keeps, and for what recurrences give, whose nodes are
/// not looked at. Tokens must be two or more.
std::optional<TokenMix> find_token_mix(const Graph& graph, const std::vector<ValueId>& sources,
                                       const std::vector<Recurrence>& recurrences, ValueId result);

}  // namespace meshwork

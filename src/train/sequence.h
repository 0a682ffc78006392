#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meshwork {

/// The tokens of a prompt and those behind it, and how far a model that remembers no more than
/// `context` of them has read.
class Sequence {
 public:
  Sequence(std::vector<std::int32_t> prompt, std::int64_t context);

  /// Of a context that is full, so many of the last tokens are read anew: half of it.
  static std::int64_t kept_of(std::int64_t context);

  /// Tokens that the model has to read before the next one comes.
  std::int64_t waiting() const;
  /// Those behind the prompt.
  std::int64_t generated() const { return std::ssize(tokens_) - prompt_; }

  /// Tokens to be read next, one or more.
  struct Piece {
    std::span<const std::int32_t> tokens;
    std::int64_t start;  ///< place of the first in what the model remembers
  };
  /// At most so many; they count as read.
  Piece take(std::int64_t most);

  void append(std::int32_t token) { tokens_.push_back(token); }

 private:
  std::vector<std::int32_t> tokens_;
  std::int64_t prompt_;
  std::int64_t context_;
  std::int64_t begin_ = 0;  ///< the first token that the model remembers
  std::int64_t read_ = 0;   ///< how many it does
};

}  // namespace meshwork

// How far a model that remembers a few tokens has read a sequence.
#include "train/sequence.h"

#include <doctest/doctest.h>

using namespace meshwork;

namespace {

std::vector<std::int32_t> tokens_of(const Sequence::Piece& piece) {
  return {piece.tokens.begin(), piece.tokens.end()};
}

using Tokens = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("a prompt is read in parts, then each token that comes") {
  Sequence sequence({10, 11, 12, 13, 14}, 8);
  CHECK(sequence.waiting() == 5);
  const auto first = sequence.take(3);
  CHECK(tokens_of(first) == Tokens{10, 11, 12});
  CHECK(first.start == 0);
  CHECK(sequence.waiting() == 2);
  const auto second = sequence.take(3);
  CHECK(tokens_of(second) == Tokens{13, 14});
  CHECK(second.start == 3);
  CHECK(sequence.waiting() == 0);
  CHECK(sequence.generated() == 0);
  sequence.append(20);
  CHECK(sequence.waiting() == 1);
  CHECK(sequence.generated() == 1);
  const auto third = sequence.take(3);
  CHECK(tokens_of(third) == Tokens{20});
  CHECK(third.start == 5);
}

TEST_CASE("where the context is full, the last half of it is read anew") {
  Sequence sequence({1, 2, 3, 4}, 4);
  sequence.take(4);
  CHECK(sequence.waiting() == 0);
  sequence.append(5);
  CHECK(sequence.waiting() == 2);
  const auto again = sequence.take(4);
  CHECK(tokens_of(again) == Tokens{4, 5});
  CHECK(again.start == 0);
  sequence.append(6);
  const auto next = sequence.take(4);
  CHECK(tokens_of(next) == Tokens{6});
  CHECK(next.start == 2);
}

TEST_CASE("of a prompt that is longer than the context, the end is read") {
  Sequence sequence({1, 2, 3, 4, 5, 6}, 4);
  CHECK(sequence.waiting() == 4);
  const auto piece = sequence.take(8);
  CHECK(tokens_of(piece) == Tokens{3, 4, 5, 6});
  CHECK(piece.start == 0);
}

TEST_CASE("a context of one token") {
  Sequence sequence({1, 2}, 1);
  CHECK(sequence.waiting() == 1);
  CHECK(tokens_of(sequence.take(1)) == Tokens{2});
  sequence.append(3);
  CHECK(sequence.waiting() == 1);
  const auto piece = sequence.take(1);
  CHECK(tokens_of(piece) == Tokens{3});
  CHECK(piece.start == 0);
}

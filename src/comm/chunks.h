#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace meshwork {

/// The chunks in which a reduction is done, each with a part for every member.
class Chunks {
 public:
  /// Of at most `bytes` each, but an element for every member.
  Chunks(const CollectiveCall& call, int size, std::size_t bytes);

  /// The first chunk. There is one, empty perhaps.
  void begin() { move_to(0); }
  /// The next one; false: there is none.
  bool next();

  /// The most elements that a part has.
  std::int64_t most() const;

  /// Elements of the parts of this chunk, and where each begins in what members send.
  const std::vector<std::int64_t>& begins() const { return begins_; }
  const std::vector<std::int64_t>& counts() const { return counts_; }
  /// Where the part of a member begins in what it receives.
  std::int64_t received(int member) const;

 private:
  bool is_all_reduce() const { return call_.kind == CollectiveCall::Kind::kAllReduce; }
  void move_to(std::int64_t begin);

  const CollectiveCall& call_;
  int size_;
  std::int64_t share_;                ///< elements of a member in a chunk
  std::int64_t whole_ = 0;            ///< elements of the largest thing that is cut
  std::vector<std::int64_t> blocks_;  ///< where they begin, of a reduce-scatter
  std::int64_t begin_ = 0;
  std::vector<std::int64_t> begins_, counts_;
};

}  // namespace meshwork

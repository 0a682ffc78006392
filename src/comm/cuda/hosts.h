#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "comm/communicator.h"

namespace meshwork::cuda {

/// The hosts of a group of GPU devices, and the numbers that they tell each other. Every member
/// makes the same calls in the same order; a lost member ends them as those of a Communicator.
class Hosts {
 public:
  explicit Hosts(std::shared_ptr<Communicator> communicator);

  int rank() const { return communicator_->rank(); }
  int size() const { return communicator_->size(); }
  Communicator& communicator() const { return *communicator_; }
  Stream& stream() const { return *stream_; }  ///< immediate

  /// As many numbers of every member, by rank.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine);
  std::vector<std::int64_t> gather(std::int64_t mine) { return gather({&mine, 1}); }
  /// That of every member; T is made of std::int64_t alone.
  template <class T>
  std::vector<T> gather_all(const T& mine) {
    using Words = std::array<std::int64_t, sizeof(T) / sizeof(std::int64_t)>;
    const std::vector<std::int64_t> all = gather(std::bit_cast<Words>(mine));
    std::vector<T> result;
    for (auto first = all.begin(); first != all.end(); first += std::tuple_size_v<Words>) {
      Words words;
      std::copy_n(first, words.size(), words.begin());
      result.push_back(std::bit_cast<T>(words));
    }
    return result;
  }

  /// Whether all members say so.
  bool all(bool mine);

  /// One number of every member, by rank, without preparing anything; until the next meeting.
  std::span<const std::int64_t> tell(std::int64_t mine);

  /// Returns when all have come. Breaks, on all alike, where they come for different calls.
  void meet(std::int64_t call);

  /// A number for a call that all prepare together.
  std::int64_t next_call() { return ++last_call_; }

 private:
  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<Stream> stream_;
  std::int64_t mine_ = 0;                  ///< what this one tells in a meeting
  std::vector<std::int64_t> told_;         ///< and all members
  std::unique_ptr<PreparedCall> meeting_;  ///< gathers them
  std::int64_t last_call_ = 0;
};

}  // namespace meshwork::cuda

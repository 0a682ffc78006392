#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/reduction.h"

namespace meshwork::test {

/// Any value of member `rank` in round `round`: all members can tell what the others send.
inline std::uint32_t hash(int rank, std::int64_t index, int round) {
  auto x = static_cast<std::uint64_t>(index) * 0x9E3779B97F4A7C15U;
  x ^= (static_cast<std::uint64_t>(rank) + 1) * 0xC2B2AE3D27D4EB4FU;
  x ^= (static_cast<std::uint64_t>(round) + 1) * 0x165667B19E3779F9U;
  x ^= x >> 29U;
  x *= 0xBF58476D1CE4E5B9U;
  return static_cast<std::uint32_t>(x >> 32U);
}

/// While one lives, floats are whole numbers so small that their sums are exact in any order: for
/// communicators that have not the canonical one.
class ExactSums {
 public:
  ExactSums() { ++living(); }
  ~ExactSums() { --living(); }
  ExactSums(const ExactSums&) = delete;
  ExactSums& operator=(const ExactSums&) = delete;
  static bool live() { return living() > 0; }

 private:
  static std::atomic<int>& living() {
    static std::atomic<int> count{0};
    return count;
  }
};

// T: float, std::int32_t, std::int64_t, std::uint8_t or std::uint16_t.

/// `count` values of a member, from element `begin` of what it has.
template <class T>
std::vector<T> values(int rank, std::int64_t begin, std::int64_t count, int round);

/// Elements [begin, begin + count) of the reduction over `size` members. Pairs of neighbours are
/// combined, level by level; an odd one goes up as it is.
template <class T>
std::vector<T> reduced(int size, std::int64_t begin, std::int64_t count, int round,
                       Reduction reduction);

}  // namespace meshwork::test

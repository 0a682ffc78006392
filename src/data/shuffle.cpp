#include "data/shuffle.h"

#include <array>
#include <numeric>
#include <utility>

#include "base/rng.h"

namespace meshwork::data {
namespace {

/// 64-bit numbers of one stream, in order.
class Stream {
 public:
  Stream(std::uint64_t key, std::uint64_t step) : key_(key), step_(step) {}

  std::uint64_t next() {
    const std::uint64_t draw = drawn_++;
    if (draw % 2 == 0) bits_ = philox(key_, step_, draw / 2);
    const std::size_t lane = 2 * (draw % 2);
    return std::uint64_t{bits_[lane + 1]} << 32U | bits_[lane];
  }

  /// 0 <= result < bound, all equally likely: numbers beyond the last multiple are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t excess = (0 - bound) % bound;  // 2^64 mod bound
    while (true) {
      const std::uint64_t bits = next();
      if (bits >= excess) return bits % bound;
    }
  }

 private:
  std::uint64_t key_;
  std::uint64_t step_;
  std::uint64_t drawn_ = 0;
  std::array<std::uint32_t, 4> bits_{};
};

}  // namespace

void permutation(std::uint64_t seed, std::uint64_t pass, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  Stream stream(random_key(seed, "shuffle"), pass);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
}

}  // namespace meshwork::data

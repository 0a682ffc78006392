#include "data/shuffle.h"

#include <array>
#include <bit>
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

ComputedPermutation::ComputedPermutation(std::int64_t n, std::uint64_t seed, std::uint64_t pass)
    : n_(static_cast<std::uint64_t>(n)),
      half_((static_cast<unsigned>(std::bit_width(n_ - 1)) + 1) / 2),
      key_(random_key(seed, "shuffle")),
      pass_(pass) {}

std::int64_t ComputedPermutation::operator()(std::int64_t index) const {
  auto number = static_cast<std::uint64_t>(index);
  do {
    number = encrypt(number);
  } while (number >= n_);
  return static_cast<std::int64_t>(number);
}

std::uint64_t ComputedPermutation::encrypt(std::uint64_t number) const {
  constexpr std::uint64_t kRounds = 8;
  const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
  std::uint64_t left = number >> half_;
  std::uint64_t right = number & mask;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    const std::uint64_t mixed = philox(key_, pass_, round << 32U | right)[0] & mask;
    left = std::exchange(right, left ^ mixed);
  }
  return left << half_ | right;
}

PassOrder::PassOrder(std::int64_t samples, bool shuffle, std::uint64_t seed)
    : samples_(samples), shuffle_(shuffle), seed_(seed), computed_(samples, seed, 0) {
  if (shuffle && samples <= kListedSamples) list_.resize(static_cast<std::size_t>(samples));
}

void PassOrder::begin(std::int64_t pass) {
  if (!shuffle_ || pass == pass_) return;
  pass_ = pass;
  const auto number = static_cast<std::uint64_t>(pass);
  if (list_.empty()) {
    computed_ = {samples_, seed_, number};
  } else {
    permutation(seed_, number, list_);
  }
}

std::int64_t PassOrder::at(std::int64_t place) const {
  if (!shuffle_) return place;
  return list_.empty() ? computed_(place) : list_[static_cast<std::size_t>(place)];
}

}  // namespace meshwork::data

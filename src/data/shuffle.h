#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meshwork::data {

/// Fills `order` with a permutation of 0..n-1: that of pass `pass` over the data, the same on every
/// device and every machine. All n! are equally likely (Fisher-Yates without bias).
void permutation(std::uint64_t seed, std::uint64_t pass, std::span<std::int64_t> order);

/// A permutation of 0..n-1 that is written down nowhere: a Feistel network of eight rounds over the
/// next power of four, gone through again until the number is below n (Black and Rogaway 2002).
/// Not all n! occur; it is for n of millions.
class ComputedPermutation {
 public:
  ComputedPermutation(std::int64_t n, std::uint64_t seed, std::uint64_t pass);

  std::int64_t operator()(std::int64_t index) const;

 private:
  std::uint64_t encrypt(std::uint64_t number) const;

  std::uint64_t n_;
  unsigned half_;  ///< bits of half a number
  std::uint64_t key_;
  std::uint64_t pass_;
};

/// Up to how many samples the order of a pass is a list.
constexpr std::int64_t kListedSamples = std::int64_t{1} << 22;

/// In which order passes go over n samples: from the first to the last, or shuffled, by
/// permutation() up to kListedSamples, else by a ComputedPermutation. The same on every device.
class PassOrder {
 public:
  PassOrder(std::int64_t samples, bool shuffle, std::uint64_t seed);

  /// To be called before at() for samples of that pass.
  void begin(std::int64_t pass);
  /// The sample at a place of the pass.
  std::int64_t at(std::int64_t place) const;

 private:
  std::int64_t samples_;
  bool shuffle_;
  std::uint64_t seed_;
  std::int64_t pass_ = -1;
  std::vector<std::int64_t> list_;  ///< empty where it is not needed
  ComputedPermutation computed_;
};

}  // namespace meshwork::data

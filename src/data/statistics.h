#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "data/dataset.h"

namespace meshwork::data {

/// What some numbers are like. Those that are not finite are counted, and left out of the rest.
struct NumberStatistics {
  std::int64_t count = 0;  ///< of finite numbers
  std::int64_t not_finite = 0;
  double mean = 0;
  double squares = 0;  ///< sum of squared distances from the mean
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  /// Of the whole population, as Keras's Normalization takes it.
  double std() const;
  void add(double number);
  void add(const NumberStatistics& others);
};

/// What the numbers of a field are like: raw * scale + offset, before a mean is taken off.
struct FieldStatistics {
  /// Of each place in the last dimension of [columns], [height, width, channels] and what has more
  /// dimensions, of which there are kMostChannels at most; else one, of all numbers.
  std::vector<NumberStatistics> channels;
  /// How often each whole number occurs; empty where there are more than kMostCounted different
  /// ones, or the field is float32.
  std::map<std::int64_t, std::int64_t> counts;
};

constexpr std::size_t kMostCounted = 1000;
constexpr std::int64_t kMostChannels = 100'000;

/// Reads all samples of the split, or rows of a time series. The result does not depend on the
/// number of threads. Throws what reading them throws.
FieldStatistics statistics_of(const Split& split, const Field& field, int threads);
/// The same of so many channels, to which the numbers of a sample belong in turn.
FieldStatistics statistics_of(const Split& split, const Field& field, int threads,
                              std::int64_t channels);

}  // namespace meshwork::data

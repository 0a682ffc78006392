#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace meshwork::data {

/// (value - mean) / std in float32, channel by channel; a channel is a place in the last dimension.
/// Both are empty for no normalization, or have one number for all channels, or one for each.
struct Normalization {
  std::vector<float> mean;
  std::vector<float> std;

  bool empty() const { return mean.empty(); }
};

/// Normalizes neighbouring elements of a sample of which the first has the row-major index `start`.
void normalize(const Normalization& normalization, std::int64_t start, std::span<float> values);

}  // namespace meshwork::data

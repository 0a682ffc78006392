#include "data/normalization.h"

namespace meshwork::data {

void normalize(const Normalization& normalization, std::int64_t start, std::span<float> values) {
  const std::size_t channels = normalization.mean.size();
  if (channels == 1) {
    const float mean = normalization.mean[0];
    const float std = normalization.std[0];
    for (float& value : values) value = (value - mean) / std;
    return;
  }
  std::size_t channel = static_cast<std::size_t>(start) % channels;
  for (float& value : values) {
    value = (value - normalization.mean[channel]) / normalization.std[channel];
    if (++channel == channels) channel = 0;
  }
}

}  // namespace meshwork::data

// Equalizes the histogram of each channel of an image, of `bins` bins, over 256 values of
// value_range. A channel that lies in one bin stays as it is. Keras 3.15 takes one histogram for
// all images of a batch.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "data/augment/augment.h"
#include "data/augment/colors.h"

namespace meshwork::data {
namespace {

constexpr int kMostBins = 4096;

struct Equalization {
  ValueRange values;
  int bins = 0;

  int bin(float pixel) const { return values.level(pixel, bins - 1); }
  void apply(const ImageShape& shape, std::int64_t channel, const float* from, float* to) const;
};

void Equalization::apply(const ImageShape& shape, std::int64_t channel, const float* from,
                         float* to) const {
  std::array<std::int64_t, kMostBins> up_to;  // pixels in this bin and those before it
  const auto begin = up_to.begin(), end = begin + bins;
  std::fill(begin, end, 0);
  for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) {
    ++up_to[static_cast<std::size_t>(bin(from[i]))];
  }
  const std::int64_t first = *std::find_if(begin, end, [](std::int64_t n) { return n > 0; });
  std::partial_sum(begin, end, begin);
  const std::int64_t others = up_to[static_cast<std::size_t>(bins - 1)] - first;
  for (std::int64_t i = channel; i < shape.elements(); i += shape.channels) {
    if (others == 0) {
      to[i] = from[i];
      continue;
    }
    const std::int64_t before = up_to[static_cast<std::size_t>(bin(from[i]))] - first;
    const float level =
        std::nearbyint(static_cast<float>(before * 255) / static_cast<float>(others));
    to[i] = level / 255.F * values.span() + values.least;
  }
}

ImageFunction parse(config::Reader& args) {
  const std::int64_t bins = args.get("bins", 256, config::between(2, kMostBins));
  const Equalization equalization{read_value_range(args), static_cast<int>(bins)};
  return [=](const ImageShape& shape, const Draws& /*draws*/, const float* from, float* to) {
    for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
      equalization.apply(shape, channel, from, to);
    }
  };
}

}  // namespace

const ImageOpDef kEqualization{.names = {"Equalization", "equalization"}, .parse = parse};

}  // namespace meshwork::data

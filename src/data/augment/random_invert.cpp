// Mirrors all pixels in value_range, with the probability factor: p becomes least + most - p.
// Keras 3.15 takes most - p, which leaves a range that does not begin at 0.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const double probability = read_probability(args);
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    if (draws[0] >= probability) {
      std::copy_n(from, shape.elements(), to);
      return;
    }
    std::transform(from, from + shape.elements(), to, [&](float x) { return values.mirrored(x); });
  };
}

}  // namespace

const ImageOpDef kRandomInvert{.names = {"RandomInvert", "random_invert"}, .parse = parse};

}  // namespace meshwork::data

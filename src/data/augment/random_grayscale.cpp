// Takes the colours from an image, with the probability factor: all three channels become
// its grey.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"

namespace meshwork::data {
namespace {

ImageFunction parse(config::Reader& args) {
  const double factor = args.get("factor", 0.5, config::between(0, 1));
  return [factor](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    if (draws[0] >= factor) {
      std::copy_n(from, shape.elements(), to);
      return;
    }
    for (std::int64_t i = 0; i < shape.elements(); i += 3) {
      std::fill_n(to + i, 3, gray_of(from + i));
    }
  };
}

}  // namespace

const ImageOpDef kRandomGrayscale{
    .names = {"RandomGrayscale", "random_grayscale"}, .channels = 3, .parse = parse};

}  // namespace meshwork::data

// A rectangle of another image (Yun et al. 2019). Its area is, as a part of the image's, a draw of
// Beta(alpha, alpha), where alpha is one from `factor` for the whole batch. It lies inside the
// image; it may begin and end within a pixel, and labels are weighted by its area, as in Keras.
#include <cmath>
#include <tuple>
#include <utility>

#include "data/augment/mix.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

/// What Keras adds, lest alpha be 0.
constexpr double kLeastAlpha = 1e-6;

/// Where a part of a line begins and ends, inside of it.
std::pair<float, float> place(std::int64_t pixels, double part, double drawn) {
  const double all = static_cast<double>(pixels), length = part * all;
  const double begin = drawn * (all - length);
  return {static_cast<float>(begin), static_cast<float>(begin + length)};
}

Mixture draw(const Range& factor, const ImageShape& shape, DrawStream of_batch, DrawStream draws) {
  const double weight = draws.beta(factor.at(of_batch.uniform()) + kLeastAlpha);
  const double part = std::sqrt(1 - weight);
  Box box;
  std::tie(box.x0, box.x1) = place(shape.width, part, draws.uniform());
  std::tie(box.y0, box.y1) = place(shape.height, part, draws.uniform());
  return {.share = static_cast<float>(weight), .box = box};
}

MixFunction parse(config::Reader& args) {
  const config::Value* const given = args.find("factor");
  const Range factor = given == nullptr ? Range{0, 1} : read_factor(*given, "factor", 0);
  return [factor](const ImageShape& shape, const DrawStream& of_batch,
                  const DrawStream& of_sample) { return draw(factor, shape, of_batch, of_sample); };
}

}  // namespace

const MixOpDef kCutMix{.names = {"CutMix", "cut_mix"}, .needs_image = true, .parse = parse};

}  // namespace meshwork::data

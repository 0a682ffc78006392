// Keeps the first bits of pixels on the scale 0 to 255. One factor is the number of bits, as Keras
// says; Keras 3.15 draws fewer. Of a list [lower, upper] both may be drawn.
#include <algorithm>

#include "data/augment/augment.h"
#include "data/augment/colors.h"

namespace meshwork::data {
namespace {

constexpr int kBits = 8;

struct Bits {
  std::int64_t lower = 0, upper = 0;
  /// With equal chance.
  std::int64_t at(float draw) const {
    const auto count = static_cast<double>(upper - lower + 1);
    return std::min(lower + static_cast<std::int64_t>(draw * count), upper);
  }
};

std::int64_t read_number(const config::Value& value) {
  const std::int64_t bits = value.as_integer("factor");
  if (bits >= 1 && bits <= kBits) return bits;
  config::fail_at(value.at, "factor must be a number of bits from 1 to {}, not {}", kBits, bits);
}

Bits read_bits(const config::Value& value) {
  if (!value.is_list()) return {read_number(value), read_number(value)};
  if (value.list.size() != 2) {
    config::fail_at(value.at,
                    "factor must be a number of bits, or a list of the least and the "
                    "greatest one");
  }
  const std::int64_t first = read_number(value.list[0]), second = read_number(value.list[1]);
  return {std::min(first, second), std::max(first, second)};
}

ImageFunction parse(config::Reader& args) {
  const Bits bits = read_bits(args.require("factor"));
  const ValueRange values = read_value_range(args);
  return [=](const ImageShape& shape, const Draws& draws, const float* from, float* to) {
    const std::int64_t dropped = kBits - bits.at(draws[0]);
    std::transform(from, from + shape.elements(), to, [&](float x) {
      const int level = values.level(x, 255) >> dropped << dropped;
      return static_cast<float>(level) / 255.F * values.span() + values.least;
    });
  };
}

}  // namespace

const ImageOpDef kRandomPosterization{.names = {"RandomPosterization", "random_posterization"},
                                      .parse = parse};

}  // namespace meshwork::data

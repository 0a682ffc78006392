#include "data/augment/mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"
#include "base/rng.h"
#include "config/config.h"
#include "config/lookup.h"

namespace meshwork::data {
namespace {

/// Draws for a sample that none of another sample's meets.
constexpr std::uint64_t kDrawsPerSample = std::uint64_t{1} << 20;

/// What is no image has all its numbers in one row.
ImageShape image_shape(const Shape& shape) {
  if (shape.size() == 3) return {shape[0], shape[1], shape[2]};
  if (shape.size() == 2) return {shape[0], shape[1], 1};
  return {1, num_elements(shape), 1};
}

MixOp read_op(const config::Value& value) {
  const config::ClassSpec spec = config::read_class(value, "mix");
  const MixOpDef& def = config::look_up(mix_ops(), spec, "mixing operation");
  config::Reader args(spec.args, fmt::format("mix: {}", def.names[0]));
  MixOp op{
      .name = std::string(def.names[0]), .seed = {}, .needs_image = def.needs_image, .draw = {}};
  if (const config::Value* seed = args.find("seed")) op.seed = seed->as_unsigned("seed");
  op.draw = def.parse(args);
  args.finish();
  return op;
}

}  // namespace

double DrawStream::uniform() {
  const std::uint64_t index = static_cast<std::uint64_t>(place_) * kDrawsPerSample + drawn_++;
  constexpr double kHalfStep = 0x1p-25;
  return uniform_at(key_, static_cast<std::uint64_t>(pass_), index) + kHalfStep;
}

/// Box and Muller 1958.
double DrawStream::normal() {
  const double length = std::sqrt(-2 * std::log(uniform()));
  return length * std::cos(2 * std::numbers::pi * uniform());
}

/// For alpha > 1.
double DrawStream::gamma(double alpha) {
  const double d = alpha - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double z = normal();
    const double v = std::pow(1 + c * z, 3);
    if (v > 0 && std::log(uniform()) < z * z / 2 + d - d * v + d * std::log(v)) return d * v;
  }
}

double DrawStream::beta(double alpha) {
  MW_CHECK(alpha > 0);
  if (alpha > 1) {
    const double x = gamma(alpha);
    return x / (x + gamma(alpha));
  }
  for (;;) {
    // x = u^(1/alpha) may be too small for a number: its logarithm is not.
    const double x = std::log(uniform()) / alpha, y = std::log(uniform()) / alpha;
    const double most = std::max(x, y);
    const double sum = std::exp(x - most) + std::exp(y - most);
    if (most + std::log(sum) <= 0) return std::exp(x - most) / sum;
  }
}

void Mixture::mix(const ImageShape& shape, const float* first, const float* second,
                  float* to) const {
  if (!box) {
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      to[i] = share * first[i] + (1 - share) * second[i];
    }
    return;
  }
  if (to != first) std::copy_n(first, shape.elements(), to);
  const auto begin = [](float from) { return static_cast<std::int64_t>(std::ceil(from)); };
  const std::int64_t x0 = begin(box->x0), x1 = std::min(begin(box->x1), shape.width);
  const std::int64_t y1 = std::min(begin(box->y1), shape.height);
  for (std::int64_t y = begin(box->y0); y < y1 && x0 < x1; ++y) {
    const std::int64_t at = (y * shape.width + x0) * shape.channels;
    std::copy_n(second + at, (x1 - x0) * shape.channels, to + at);
  }
}

std::vector<MixOp> read_mix(const config::Value& mix) {
  if (!mix.is_list()) return {read_op(mix)};
  std::vector<MixOp> ops;
  for (const config::Value& item : mix.list) ops.push_back(read_op(item));
  if (ops.empty()) config::fail_at(mix.at, "mix has no operation; name one, or leave it out");
  return ops;
}

Mixer::Mixer(std::vector<MixOp> ops, const Shape& shape, std::uint64_t seed)
    : ops_(std::move(ops)), choice_(random_key(seed, "mix")), shape_(image_shape(shape)) {
  MW_CHECK(!ops_.empty());
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    for (const char* what : {"batch", "sample"}) {
      keys_.push_back(random_key(ops_[i].seed.value_or(seed), fmt::format("mix/{}/{}", i, what)));
    }
  }
}

Mixture Mixer::draw(const MixPlace& at) const {
  const double drawn = DrawStream(choice_, at.pass, at.place).uniform();
  const auto op = static_cast<std::size_t>(drawn * static_cast<double>(ops_.size()));
  return ops_[op].draw(shape_, DrawStream(keys_[2 * op], at.pass, at.batch_first),
                       DrawStream(keys_[2 * op + 1], at.pass, at.place));
}

const std::vector<const MixOpDef*>& mix_ops() {
  static const std::vector<const MixOpDef*> ops{&kCutMix, &kMixUp};
  return ops;
}

}  // namespace meshwork::data

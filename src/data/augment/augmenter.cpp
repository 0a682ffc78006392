#include "data/augment/augmenter.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "base/rng.h"

namespace meshwork::data {

Augmenter::Augmenter(std::vector<ImageOp> ops, const std::string& field, const Shape& shape,
                     std::uint64_t seed)
    : ops_(std::move(ops)) {
  MW_CHECK(shape.size() == 2 || shape.size() == 3, "{}", to_string(shape));
  shape_ = {shape[0], shape[1], shape.size() == 3 ? shape[2] : 1};
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const std::string path = fmt::format("augment/{}/{}", field, i);
    keys_.push_back(random_key(ops_[i].seed.value_or(seed), path));
  }
  other_.resize(static_cast<std::size_t>(shape_.elements()));
}

const float* Augmenter::operator()(float* image, std::int64_t pass, std::int64_t position) {
  float* from = image;
  float* to = other_.data();
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    if (!ops_[i].apply) continue;
    Draws draws;
    for (std::size_t k = 0; k < draws.size(); ++k) {
      draws[k] = uniform_at(keys_[i], static_cast<std::uint64_t>(pass),
                            static_cast<std::uint64_t>(position) * draws.size() + k);
    }
    ops_[i].apply(shape_, draws, from, to);
    std::swap(from, to);
  }
  return from;
}

}  // namespace meshwork::data

#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "base/rng.h"
#include "config/yaml.h"
#include "data/augment/augment.h"
#include "data/files.h"

namespace meshwork::test {

inline std::vector<data::ImageOp> ops_of(const std::string& text) {
  return data::read_augment(config::parse_yaml(text, "d.yaml"));
}

/// What the first operation makes of an image.
inline std::vector<float> apply(const std::string& text, const data::ImageShape& shape,
                                const std::vector<float>& image, const data::Draws& draws) {
  std::vector<float> result(image.size(), -1.F);
  ops_of(text).at(0).apply(shape, draws, image.data(), result.data());
  return result;
}

inline std::string bad(const std::string& text) {
  return error_of([&] { ops_of(text); }, ExitCode::kConfiguration);
}

inline data::Draws draws_at(std::uint64_t sample) {
  data::Draws draws;
  for (std::size_t k = 0; k < draws.size(); ++k) draws[k] = uniform_at(7, sample, k);
  return draws;
}

/// 1, 2, ..
inline std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.F);
  return values;
}

}  // namespace meshwork::test

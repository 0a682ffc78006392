#pragma once

#include <cstdint>

namespace meshwork::cpu {

/// What is drawn: shift + scale * draw.
struct DrawStream {
  std::uint64_t key = 0;
  std::uint64_t step = 0;
  float shift = 0;
  float scale = 1;
};

/// `count` elements of a uniform tensor (base/rng.h) from the global index `index` on.
void draw_uniform(const DrawStream& stream, std::uint64_t index, float* y, std::int64_t count);

}  // namespace meshwork::cpu

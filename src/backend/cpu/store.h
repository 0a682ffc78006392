#pragma once

#include <cstdint>

#include "backend/convert.h"

namespace meshwork::cpu {

/// to = value, converted. A copy of a struct would keep loops from being vectorized, one of its
/// bits does not.
template <class To, class From>
[[gnu::always_inline]] inline void store(To& to, From value) {
  if constexpr (kIsNarrow<To>) {
    to.bits = convert<To>(value).bits;
  } else {
    to = convert<To>(value);
  }
}

/// to = from, converted, for `count` elements; `to` may be `from` where the sizes are the same.
template <class From, class To>
struct ConvertLoop {
  [[gnu::always_inline]] static void run(const From* from, To* to, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(to[i], from[i]);
  }
};

}  // namespace meshwork::cpu

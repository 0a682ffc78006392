#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/backend.h"

namespace meshwork::cuda {

/// Of operand 0, along the attribute `axis`.
struct Channels {
  std::int64_t count;
  std::int64_t parts;              ///< in which each is added up, at most
  std::vector<std::int64_t> axes;  ///< all others
};

Channels channels_of(const KernelArgs& args);

inline constexpr std::int64_t kPairBytes = 8;
inline constexpr int kMostPairs = 4;  ///< of a pack: two sums of more take too many registers

/// Two sums of a channel; a text behind kWalkText that knows X, the dtype of operand 0.
inline constexpr std::string_view kPairsText = R"cuda(
struct Pair {
  float first, second;
};
struct Pairs {
  float first[V], second[V];
};
struct Totals {
  float64 first, second;
};

DEVICE Pair from_lane(const Pair& x, int32 distance) {
  return {from_lane(x.first, distance), from_lane(x.second, distance)};
}

struct Op {
  typedef Pairs Number;
  DEVICE Pairs nothing() { return {}; }
  DEVICE Pair fold(const Pair& a, const Pair& b) {
    return {a.first + b.first, a.second + b.second};
  }
  DEVICE Totals fold(const Totals& a, const Totals& b) {
    return {a.first + b.first, a.second + b.second};
  }
  DEVICE Pairs fold(const Pairs& a, const Pairs& b) {
    Pairs y;
    for (int32 i = 0; i < V; ++i) {
      y.first[i] = a.first[i] + b.first[i];
      y.second[i] = a.second[i] + b.second[i];
    }
    return y;
  }
};

// x - shift, and its square: of a pack, whose elements are of a channel each, or of the same.
struct Shifted {
  const X* x;
  float shift[V];
  DEVICE Shifted of(const X* x, const float* shift, int64 channel, int32 apart) {
    Shifted terms{x, {}};
    for (int32 i = 0; i < V; ++i) terms.shift[i] = shift[channel + i * apart];
    return terms;
  }
  __device__ Pairs operator()(int64 at) const {
    const Pack<X, V> pack = load<V>(x + at);
    Pairs y;
    for (int32 i = 0; i < V; ++i) {
      y.first[i] = computed(pack.at[i]) - shift[i];
      y.second[i] = y.first[i] * y.first[i];
    }
    return y;
  }
};
)cuda";

}  // namespace meshwork::cuda

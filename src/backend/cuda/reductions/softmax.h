#pragma once

#include <string_view>

namespace meshwork::cuda {

/// Of kernels on lines (lines.h) that need the greatest x and the sum of exp(x - it).
inline constexpr std::string_view kMomentsText = R"cuda(
// The greatest x of some, and the sum of exp(x - max). The sum is NaN where x holds NaN or infinity,
// and 0 where all x are -infinity.
struct Moments {
  float max, sum;
};

// What is taken off x before exponentials: of -infinity alone nothing.
DEVICE float shift_of(float max) { return max == -MW_INFINITY ? 0.0f : max; }

// e^(x - shift), x <= shift: as a power of two, within 2 units in the last place for what counts.
DEVICE float shifted_exp(float x, float shift) { return exp2f((x - shift) * 1.44269504f); }

struct Join {
  DEVICE Moments fold(const Moments& a, const Moments& b) {
    const float max = fmaxf(a.max, b.max), shift = shift_of(max);
    return {max, a.sum * shifted_exp(a.max, shift) + b.sum * shifted_exp(b.max, shift)};
  }
};

DEVICE Moments from_lane(const Moments& x, int32 distance) {
  return {from_lane(x.max, distance), from_lane(x.sum, distance)};
}

DEVICE Moments moments_of_chunk(const float (&e)[E]) {
  float max = e[0];
#pragma unroll
  for (int32 k = 1; k < E; ++k) max = fmaxf(max, e[k]);
  const float shift = shift_of(max);
  float sum = 0;
#pragma unroll
  for (int32 k = 0; k < E; ++k) sum += shifted_exp(e[k], shift);
  return {max, sum};
}

// Of a whole line, to each of its threads, whose `packs` are its last chunk then. visit(chunk, max)
// is called for each chunk, with the greatest of its elements that are numbers.
template <class Visit>
DEVICE Moments moments_of(Packs& packs, const T* x, const Line& line, const Visit& visit) {
  Moments moments{-MW_INFINITY, 0};
  for_each_chunk(packs, x, line, [&](int32 chunk, const float (&e)[E]) {
    const Moments of_chunk = moments_of_chunk(e);
    visit(chunk, of_chunk.max);
    moments = Join::fold(moments, of_chunk);
  });
  return fold_team<Join>(line.team, moments);
}
DEVICE Moments moments_of(Packs& packs, const T* x, const Line& line) {
  return moments_of(packs, x, line, [](int32, float) {});
}
)cuda";

/// Of those that need the place of the greatest x: the lowest among equals, the first NaN if there
/// is one.
inline constexpr std::string_view kGreatestText = R"cuda(
// A number and where it stands.
struct Candidate {
  float x;
  int32 place;
};

struct Better {
  DEVICE Candidate fold(const Candidate& a, const Candidate& b) {
    const bool equal = a.x == b.x || (a.x != a.x && b.x != b.x);
    const bool greater = a.x != a.x || a.x > b.x;
    return (equal ? a.place < b.place : greater) ? a : b;
  }
};

DEVICE Candidate from_lane(const Candidate& a, int32 distance) {
  return {from_lane(a.x, distance), from_lane(a.place, distance)};
}

DEVICE Candidate no_candidate() { return {-MW_INFINITY, 0x7fffffff}; }

DEVICE void add_chunk(Candidate& best, const float (&e)[E], const Line& line, int32 chunk) {
#pragma unroll
  for (int32 k = 0; k < E; ++k) {
    const int32 place = place_of(line, chunk, k);
    if (has(line, place)) best = Better::fold(best, {e[k], place});
  }
}
)cuda";

}  // namespace meshwork::cuda

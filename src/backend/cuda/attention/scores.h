#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// What the passes have in common of scores, whoever multiplies.
inline constexpr std::string_view kScoresText = R"cuda(
// Bit i * COLUMNS + j: whether the query and the key of an element of a tile belong together. Rows
// are queries, or keys.
template <bool kRowsAreQueries>
DEVICE uint32 visible(const Operands& x, const Head& head, int32 row, int32 column) {
  const int32 m = kRowsAreQueries ? row : column, s = kRowsAreQueries ? column : row;
  const int32 queries = kRowsAreQueries ? TILE_ROWS : TILE_COLUMNS;
  if (sees_all(x, head, m, queries, s, TILE_ROWS + TILE_COLUMNS - queries)) return 0xffffffffu;
  uint32 bits = 0;
#pragma unroll 1
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll 1
    for (int32 j = 0; j < COLUMNS; ++j) {
      const int32 a = row + row_of(i), b = column + column_of(j);
      const bool seen = kRowsAreQueries ? sees(x, head, a, b) : sees(x, head, b, a);
      bits |= seen ? 1u << (i * COLUMNS + j) : 0u;
    }
  }
  return bits;
}

// `otherwise` where a bit is not set.
DEVICE void select(Scores& scores, uint32 bits, float otherwise) {
  if (bits == 0xffffffffu) return;
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      const bool is_set = bits >> (i * COLUMNS + j) & 1u;
      scores.at[i][j] = is_set ? scores.at[i][j] : otherwise;
    }
  }
}

DEVICE void multiply(Scores& scores, float factor) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) scores.at[i][j] *= factor;
  }
}

// Weights, or what is like them, as dropout leaves them.
DEVICE void drop(Scores& weights, const Operands& x, uint32 kept) {
  if (x.rate == 0.0f) return;
  multiply(weights, x.factor);
  select(weights, kept, 0.0f);
}

// Bit i * COLUMNS + j: whether dropout keeps an element of a tile. A warp draws its 16 rows by 64
// columns four keys at a time, and lanes tell each other.
template <bool kRowsAreQueries>
DEVICE uint32 kept(const Operands& x, const Head& head, int32 row, int32 column) {
  if (x.rate == 0.0f) return 0xffffffffu;
  const int32 of_warp = (int32)threadIdx.x / 32 * 16;
  uint32 drawn = 0, bits = 0;
  for (int32 n = 0; n < 8; ++n) {
    const uint32 four =
        kRowsAreQueries
            ? keeps(x, head, row + of_warp + 2 * n + lane() / 16, column + lane() % 16 * 4)
            : keeps(x, head, column + n / 4 * 32 + lane(), row + of_warp + n % 4 * 4);
    drawn |= four << (4 * n);
  }
#pragma unroll 1
  for (int32 j = 0; j < COLUMNS; ++j) {
    const int32 c = column_of(j);
    // The rows of a thread are all even or all odd.
    const int32 source = kRowsAreQueries ? row_of(0) % 2 * 16 + c / 4 : c % 32;
    const uint32 word = __shfl_sync(ALL_LANES, drawn, source);
#pragma unroll 1
    for (int32 i = 0; i < ROWS; ++i) {
      const int32 r = row_of(i) - of_warp;
      const int32 bit = kRowsAreQueries ? r / 2 * 4 + c % 4 : c / 32 * 16 + r;
      bits |= (word >> bit & 1u) << (i * COLUMNS + j);
    }
  }
  return bits;
}

// factors[i] x sums to lines from `row` on, columns from `column` on.
template <class Number>
DEVICE void write(const Sums& sums, const float (&factors)[ROWS], const Lines<Number>& lines,
                  int32 row, int32 column) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    if (row + row_of(i) >= lines.count) continue;
    Number* const to = line(lines, row + row_of(i));
#pragma unroll
    for (int32 j = 0; j < SUMS; ++j) {
      const int32 c = column + sum_column(j);
      if (c < lines.width) to[c] = from_float<Number>(factors[i] * sums.at[i][j]);
    }
  }
}
)cuda";

}  // namespace meshwork::cuda::attention

#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// What products.h says, by tensor cores: weights are rounded to the dtype of operands.
inline constexpr std::string_view kNarrowProductsText = R"cuda(
// A warp has 16 rows of a tile. A thread has two of them, and pairs of columns.
#define ROWS 2
#define COLUMNS 16
#define SUMS (WIDTH / 4)
#define LANES_OF_ROW 4

#define PADDED_WIDTH (WIDTH + 8)  // rows next to each other in other banks
#define CHUNK 64                  // features that are staged at once, where not all are
#define PADDED (CHUNK + 8)
#define KEPT_ROWS 32  // staged at once, where not all are
#if WIDTH <= 128
#define STAGED (TILE_ROWS * PADDED_WIDTH)
#else
#define STAGED ((TILE_ROWS + TILE_COLUMNS) * PADDED)
#endif

DEVICE int32 row_of(int32 i) { return (int32)threadIdx.x / 32 * 16 + lane() / 4 + 8 * i; }
DEVICE int32 column_of(int32 j) { return j / 2 * 8 + lane() % 4 * 2 + j % 2; }
DEVICE int32 sum_column(int32 j) { return column_of(j); }

struct Scores {
  float at[ROWS][COLUMNS];
};
struct Sums {
  float at[ROWS][SUMS];
};

template <int kColumns>
DEVICE void clear(float (&numbers)[ROWS][kColumns]) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < kColumns; ++j) numbers[i][j] = 0.0f;
  }
}

// What a block has in shared memory.
struct Room {
  T* staged;  // [STAGED]
};
#define MAKE_ROOM(room)                             \
  __shared__ __align__(16) T staged_memory[STAGED]; \
  const Room room = {staged_memory}

// Eight elements of a row of x; zeros where it ends.
DEVICE uint4 eight_at(const Lines<const T>& x, int32 row, int32 column, int32 is_aligned) {
  const int32 left = row < x.count ? x.width - column : 0;
  if (left <= 0) return make_uint4(0, 0, 0, 0);
  const T* const from = line(x, row) + column;
  if (is_aligned) return *(const uint4*)from;
  uint32 words[4];
#pragma unroll
  for (int32 i = 0; i < 4; ++i) {
    words[i] = 2 * i < left ? from[2 * i].bits : 0u;
    words[i] |= 2 * i + 1 < left ? (uint32)from[2 * i + 1].bits << 16 : 0u;
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// Rows and columns of x, from the first ones on: there after all_staged().
template <int kRows, int kColumns, int kPadded>
DEVICE void stage(T* staged, const Lines<const T>& x, int32 first, int32 column,
                  int32 is_aligned) {
  constexpr int kEights = kColumns / 8;
  if (is_aligned && first + kRows <= x.count && column + kColumns <= x.width) {
#pragma unroll 1
    for (int32 n = (int32)threadIdx.x; n < kRows * kEights; n += THREADS) {
      const int32 i = n / kEights, c = n % kEights * 8;
      copy_later(staged + i * kPadded + c, line(x, first + i) + column + c);
    }
    return;
  }
#pragma unroll 1
  for (int32 n = (int32)threadIdx.x; n < kRows * kEights; n += THREADS) {
    const int32 i = n / kEights, c = n % kEights * 8;
    *(uint4*)(staged + i * kPadded + c) = eight_at(x, first + i, column + c, is_aligned);
  }
}

// 16 features of the 16 rows of a warp.
template <int kPadded>
DEVICE void load_rows(uint32 (&to)[4], const T* staged) {
  const int32 of_warp = (int32)threadIdx.x / 32 * 16;
  load_matrices(to, staged + (of_warp + lane() % 16) * kPadded + lane() / 16 * 8);
}

DEVICE void all_staged() {
  wait_for_copies();
  __syncthreads();
}

// Eight columns of scores or sums, a thread's from j on.
template <int kColumns>
DEVICE void add_eight(float (&to)[ROWS][kColumns], int32 j, const uint32 (&a)[4], uint32 b0,
                      uint32 b1) {
  float c[4] = {to[0][j], to[0][j + 1], to[1][j], to[1][j + 1]};
  multiply_add(c, a, b0, b1);
  to[0][j] = c[0];
  to[0][j + 1] = c[1];
  to[1][j] = c[2];
  to[1][j + 1] = c[3];
}

// 16 features of w's rows, staged, by those of a warp's own.
template <int kPadded>
DEVICE void add_dots(Scores& scores, const uint32 (&rows)[4], const T* w) {
#pragma unroll
  for (int32 n = 0; n < TILE_COLUMNS; n += 16) {
    uint32 columns[4];
    load_matrices(columns, w + (n + lane() / 16 * 8 + lane() % 8) * kPadded + lane() / 8 % 2 * 8);
    add_eight(scores.at, n / 4, rows, columns[0], columns[1]);
    add_eight(scores.at, n / 4 + 2, rows, columns[2], columns[3]);
  }
}

// 16 rows of w, staged, by weights j to j + 3 of the rows of a warp.
template <int kPadded>
DEVICE void add_rows(Sums& sums, const Scores& weights, int32 j, const T* w) {
  const uint32 rows[4] = {pair(weights.at[0][j], weights.at[0][j + 1]),
                          pair(weights.at[1][j], weights.at[1][j + 1]),
                          pair(weights.at[0][j + 2], weights.at[0][j + 3]),
                          pair(weights.at[1][j + 2], weights.at[1][j + 3])};
#pragma unroll
  for (int32 n = 0; n < WIDTH; n += 16) {
    uint32 columns[4];
    load_transposed(columns, w + lane() % 16 * kPadded + n + lane() / 16 * 8);
    add_eight(sums.at, n / 4, rows, columns[0], columns[1]);
    add_eight(sums.at, n / 4 + 2, rows, columns[2], columns[3]);
  }
}

// Where operands are not wider, a block keeps its own rows in registers, and of others a tile of
// each of two operands in shared memory. Else they are staged piece by piece, again and again.
#if WIDTH <= 128
// Rows of a block, which stay in registers.
struct Fixed {
  uint32 rows[WIDTH / 16][4];
};
DEVICE Fixed fixed(const Lines<const T>& x, int32 row, int32 is_aligned, const Room& room) {
  __syncthreads();
  stage<TILE_ROWS, WIDTH, PADDED_WIDTH>(room.staged, x, row, 0, is_aligned);
  all_staged();
  Fixed result;
#pragma unroll
  for (int32 step = 0; step < WIDTH / 16; ++step) {
    load_rows<PADDED_WIDTH>(result.rows[step], room.staged + step * 16);
  }
  return result;
}

// Rows by which they are multiplied: two such tiles are staged at once.
struct Tile {
  const T* staged;
};
DEVICE Tile tile(const Lines<const T>& x, int32 row, int32 place, int32 is_aligned,
                 const Room& room) {
  T* const staged = room.staged + place * TILE_COLUMNS * PADDED_WIDTH;
  stage<TILE_COLUMNS, WIDTH, PADDED_WIDTH>(staged, x, row, 0, is_aligned);
  return {staged};
}
DEVICE void all_there() { all_staged(); }

DEVICE void dots(Scores& scores, const Fixed& x, const Tile& w, int32, const Room&) {
  clear(scores.at);
#pragma unroll
  for (int32 step = 0; step < WIDTH / 16; ++step) {
    add_dots<PADDED_WIDTH>(scores, x.rows[step], w.staged + step * 16);
  }
}

DEVICE void add_products(Sums& sums, const Scores& weights, const Tile& w, int32, int32,
                         const Room&) {
#pragma unroll
  for (int32 k = 0; k < TILE_COLUMNS; k += 16) {
    add_rows<PADDED_WIDTH>(sums, weights, k / 4, w.staged + k * PADDED_WIDTH);
  }
}
#else
struct Fixed {
  Lines<const T> lines;
  int32 row;
};
DEVICE Fixed fixed(const Lines<const T>& x, int32 row, int32, const Room&) { return {x, row}; }

struct Tile {
  Lines<const T> lines;
  int32 row;
};
DEVICE Tile tile(const Lines<const T>& x, int32 row, int32, int32, const Room&) {
  return {x, row};
}
DEVICE void all_there() {}

DEVICE void dots(Scores& scores, const Fixed& x, const Tile& w, int32 is_aligned,
                 const Room& room) {
  clear(scores.at);
  T* const of_w = room.staged + TILE_ROWS * PADDED;
  for (int32 begin = 0; begin < w.lines.width; begin += CHUNK) {
    __syncthreads();
    stage<TILE_ROWS, CHUNK, PADDED>(room.staged, x.lines, x.row, begin, is_aligned);
    stage<TILE_COLUMNS, CHUNK, PADDED>(of_w, w.lines, w.row, begin, is_aligned);
    all_staged();
#pragma unroll 1
    for (int32 f = 0; f < min(CHUNK, w.lines.width - begin); f += 16) {
      uint32 rows[4];
      load_rows<PADDED>(rows, room.staged + f);
      add_dots<PADDED>(scores, rows, of_w + f);
    }
  }
}

DEVICE void add_products(Sums& sums, const Scores& weights, const Tile& w, int32 column,
                         int32 is_aligned, const Room& room) {
#pragma unroll
  for (int32 begin = 0; begin < TILE_COLUMNS; begin += KEPT_ROWS) {
    __syncthreads();
    stage<KEPT_ROWS, WIDTH, PADDED_WIDTH>(room.staged, w.lines, w.row + begin, column, is_aligned);
    all_staged();
#pragma unroll
    for (int32 k = 0; k < KEPT_ROWS; k += 16) {
      add_rows<PADDED_WIDTH>(sums, weights, (begin + k) / 4, room.staged + k * PADDED_WIDTH);
    }
  }
}
#endif
)cuda";

}  // namespace meshwork::cuda::attention

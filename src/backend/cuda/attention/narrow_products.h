#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// What products.h says, by tensor cores: operands are bfloat16, weights rounded to it.
inline constexpr std::string_view kNarrowProductsText = R"cuda(
// A warp has 16 rows of a tile. A thread has two of them, and pairs of columns.
#define ROWS 2
#define COLUMNS 16
#define SUMS (WIDTH / 4)
#define LANES_OF_ROW 4

#define CHUNK (WIDTH < 64 ? 32 : 64)  // features that are staged at once
#define PADDED (CHUNK + 8)            // rows next to each other in other banks
#define KEPT_ROWS (WIDTH <= 128 ? 64 : 32)
#define PADDED_WIDTH (WIDTH + 8)
#define HELD (WIDTH <= HELD_WIDTH ? WIDTH / 16 : 0)  // steps of 16 features
#define OF_CHUNKS ((TILE_ROWS + TILE_COLUMNS) * PADDED)
#define OF_ROWS ((HELD > 0 ? TILE_ROWS : KEPT_ROWS) * PADDED_WIDTH)
#define STAGED (OF_CHUNKS > OF_ROWS ? OF_CHUNKS : OF_ROWS)

DEVICE int32 row_of(int32 i) { return (int32)threadIdx.x / 32 * 16 + lane() / 4 + 8 * i; }
DEVICE int32 column_of(int32 j) { return j / 2 * 8 + lane() % 4 * 2 + j % 2; }
DEVICE int32 sum_column(int32 j) { return column_of(j); }

struct Scores {
  float at[ROWS][COLUMNS];
};
struct Sums {
  float at[ROWS][SUMS];
};

// What a block has in shared memory.
struct Room {
  bfloat16* staged;  // [STAGED]
};
#define MAKE_ROOM(room)                                 \
  __shared__ __align__(16) bfloat16 staged_memory[STAGED]; \
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

// Rows and columns of x, from the first ones on.
template <int kRows, int kColumns, int kPadded>
DEVICE void stage(bfloat16* staged, const Lines<const T>& x, int32 first, int32 column,
                  int32 is_aligned) {
  constexpr int kEights = kColumns / 8;
  if (is_aligned && first + kRows <= x.count && column + kColumns <= x.width) {
#pragma unroll 4
    for (int32 n = (int32)threadIdx.x; n < kRows * kEights; n += THREADS) {
      const int32 i = n / kEights, c = n % kEights * 8;
      *(uint4*)(staged + i * kPadded + c) = *(const uint4*)(line(x, first + i) + column + c);
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
DEVICE void load_rows(uint32 (&to)[4], const bfloat16* staged) {
  const int32 of_warp = (int32)threadIdx.x / 32 * 16;
  load_matrices(to, staged + (of_warp + lane() % 16) * kPadded + lane() / 16 * 8);
}

// Rows that are multiplied again and again; a few features of them stay in registers.
struct Fixed {
  Lines<const T> lines;
  int32 row;
  bool is_held;
  uint32 held[HELD > 0 ? HELD : 1][4];
};
DEVICE Fixed fixed(const Lines<const T>& x, int32 row, int32 is_aligned, const Room& room) {
  Fixed result;
  result.lines = x;
  result.row = row;
  result.is_held = x.width <= HELD * 16;
  if (!result.is_held) return result;
  __syncthreads();
  stage<TILE_ROWS, WIDTH, PADDED_WIDTH>(room.staged, x, row, 0, is_aligned);
  __syncthreads();
#pragma unroll
  for (int32 step = 0; step < HELD; ++step) {
    load_rows<PADDED_WIDTH>(result.held[step], room.staged + step * 16);
  }
  return result;
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
DEVICE void add_dots(Scores& scores, const uint32 (&rows)[4], const bfloat16* w) {
#pragma unroll
  for (int32 n = 0; n < TILE_COLUMNS; n += 16) {
    uint32 columns[4];
    load_matrices(columns, w + (n + lane() / 16 * 8 + lane() % 8) * kPadded + lane() / 8 % 2 * 8);
    add_eight(scores.at, n / 4, rows, columns[0], columns[1]);
    add_eight(scores.at, n / 4 + 2, rows, columns[2], columns[3]);
  }
}

// Scores of the rows of x and w's from `column` on: x w^T.
DEVICE void dots(Scores& scores, const Fixed& x, const Lines<const T>& w, int32 column,
                 int32 is_aligned, const Room& room) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) scores.at[i][j] = 0.0f;
  }
  if (x.is_held) {
    __syncthreads();
    stage<TILE_COLUMNS, WIDTH, PADDED_WIDTH>(room.staged, w, column, 0, is_aligned);
    __syncthreads();
#pragma unroll
    for (int32 step = 0; step < HELD; ++step) {
      add_dots<PADDED_WIDTH>(scores, x.held[step], room.staged + step * 16);
    }
    return;
  }
  bfloat16* const of_w = room.staged + TILE_ROWS * PADDED;
  for (int32 begin = 0; begin < w.width; begin += CHUNK) {
    __syncthreads();
    stage<TILE_ROWS, CHUNK, PADDED>(room.staged, x.lines, x.row, begin, is_aligned);
    stage<TILE_COLUMNS, CHUNK, PADDED>(of_w, w, column, begin, is_aligned);
    __syncthreads();
    const int32 features = min(CHUNK, w.width - begin);
#pragma unroll 1
    for (int32 f = 0; f < features; f += 16) {
      uint32 rows[4];
      load_rows<PADDED>(rows, room.staged + f);
      add_dots<PADDED>(scores, rows, of_w + f);
    }
  }
}

// sums += weights w, of w's rows from `row` on and its columns from `column` on.
DEVICE void add_products(Sums& sums, const Scores& weights, const Lines<const T>& w, int32 row,
                         int32 column, int32 is_aligned, const Room& room) {
#pragma unroll
  for (int32 begin = 0; begin < TILE_COLUMNS; begin += KEPT_ROWS) {
    __syncthreads();
    stage<KEPT_ROWS, WIDTH, PADDED_WIDTH>(room.staged, w, row + begin, column, is_aligned);
    __syncthreads();
#pragma unroll
    for (int32 k = 0; k < KEPT_ROWS; k += 16) {
      const int32 j = (begin + k) / 4;
      const uint32 rows[4] = {pair(weights.at[0][j], weights.at[0][j + 1]),
                              pair(weights.at[1][j], weights.at[1][j + 1]),
                              pair(weights.at[0][j + 2], weights.at[0][j + 3]),
                              pair(weights.at[1][j + 2], weights.at[1][j + 3])};
#pragma unroll
      for (int32 n = 0; n < WIDTH; n += 16) {
        uint32 columns[4];
        load_transposed(columns,
                        room.staged + (k + lane() % 16) * PADDED_WIDTH + n + lane() / 16 * 8);
        add_eight(sums.at, n / 4, rows, columns[0], columns[1]);
        add_eight(sums.at, n / 4 + 2, rows, columns[2], columns[3]);
      }
    }
  }
}
)cuda";

}  // namespace meshwork::cuda::attention

#pragma once

#include <string_view>

namespace meshwork::cuda::attention {

/// Products of tiles, and the parts of their results that a thread has: rows row_of(i) by columns
/// column_of(j) of scores, and by sum_column(j) of sums. Sums are float32.
inline constexpr std::string_view kProductsText = R"cuda(
// A warp has 16 rows of a tile: half of its lanes each second one.
#define ROWS 8
#define COLUMNS 4
#define SUMS (WIDTH / 16)
#define LANES_OF_ROW 16

#define CHUNK 32   // features that are staged at once
#define PADDED 36  // rows next to each other in other banks
#define STAGED (2 * TILE * PADDED)
#define PADDED_TILE (TILE + 4)
#define KEPT_ROWS (WIDTH <= 64 ? 64 : WIDTH <= 128 ? 32 : 16)  // x WIDTH <= STAGED

DEVICE int32 lane() { return (int32)threadIdx.x % 32; }
DEVICE int32 row_of(int32 i) { return (int32)threadIdx.x / 32 * 16 + 2 * i + lane() / 16; }
DEVICE int32 column_of(int32 j) { return lane() % 16 + 16 * j; }
DEVICE int32 sum_column(int32 j) { return lane() % 16 * 2 + j / 2 * 32 + j % 2; }

struct Scores {
  float at[ROWS][COLUMNS];
};
struct Sums {
  float at[ROWS][SUMS];
};

// What a block has in shared memory.
struct Room {
  float* staged;   // [STAGED]
  float* weights;  // [TILE][PADDED_TILE]
};
#define MAKE_ROOM(room)                                             \
  __shared__ __align__(16) float staged_memory[STAGED];             \
  __shared__ __align__(16) float weights_memory[TILE * PADDED_TILE]; \
  const Room room = {staged_memory, weights_memory}

DEVICE float4 four(const float* from) { return *(const float4*)from; }
DEVICE float4 four(const bfloat16* from) {
  const uint2 words = *(const uint2*)from;
  return make_float4(__uint_as_float(words.x << 16), __uint_as_float(words.x & 0xffff0000u),
                     __uint_as_float(words.y << 16), __uint_as_float(words.y & 0xffff0000u));
}

// The first `count` of four elements; zeros behind them.
DEVICE float4 some_of_four(const T* from, int32 count) {
  return make_float4(count > 0 ? to_float(from[0]) : 0.0f, count > 1 ? to_float(from[1]) : 0.0f,
                     count > 2 ? to_float(from[2]) : 0.0f, count > 3 ? to_float(from[3]) : 0.0f);
}

// Four elements of a row of x; zeros where it ends.
DEVICE float4 four_at(const Lines<const T>& x, int32 row, int32 column, int32 in_fours) {
  const int32 left = row < x.count ? x.width - column : 0;
  if (left <= 0) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const T* const from = line(x, row) + column;
  return in_fours ? four(from) : some_of_four(from, left);
}

// Rows and columns of x, from the first ones on.
template <int kRows, int kColumns, int kPadded>
DEVICE void stage(float* staged, const Lines<const T>& x, int32 first, int32 column,
                  int32 in_fours) {
  constexpr int kFours = kColumns / 4;
  if (in_fours && first + kRows <= x.count && column + kColumns <= x.width) {
#pragma unroll 4
    for (int32 n = (int32)threadIdx.x; n < kRows * kFours; n += THREADS) {
      const int32 i = n / kFours, c = n % kFours * 4;
      *(float4*)(staged + i * kPadded + c) = four(line(x, first + i) + column + c);
    }
    return;
  }
#pragma unroll 1
  for (int32 n = (int32)threadIdx.x; n < kRows * kFours; n += THREADS) {
    const int32 i = n / kFours, c = n % kFours * 4;
    *(float4*)(staged + i * kPadded + c) = four_at(x, first + i, column + c, in_fours);
  }
}

DEVICE float dot(float4 x, float4 w, float sum) {
  return fmaf(x.w, w.w, fmaf(x.z, w.z, fmaf(x.y, w.y, fmaf(x.x, w.x, sum))));
}

// Scores of x's rows from `row` on and w's from `column` on: x w^T.
DEVICE void dots(Scores& scores, const Lines<const T>& x, int32 row, const Lines<const T>& w,
                 int32 column, int32 in_fours, const Room& room) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) scores.at[i][j] = 0.0f;
  }
  float* const of_w = room.staged + TILE * PADDED;
  for (int32 begin = 0; begin < x.width; begin += CHUNK) {
    __syncthreads();
    stage<TILE, CHUNK, PADDED>(room.staged, x, row, begin, in_fours);
    stage<TILE, CHUNK, PADDED>(of_w, w, column, begin, in_fours);
    __syncthreads();
    const int32 features = min(CHUNK, x.width - begin);
#pragma unroll 1
    for (int32 f = 0; f < features; f += 4) {
      float4 columns[COLUMNS];
#pragma unroll
      for (int32 j = 0; j < COLUMNS; ++j) columns[j] = four(of_w + column_of(j) * PADDED + f);
#pragma unroll
      for (int32 i = 0; i < ROWS; ++i) {
        const float4 numbers = four(room.staged + row_of(i) * PADDED + f);
#pragma unroll
        for (int32 j = 0; j < COLUMNS; ++j) {
          scores.at[i][j] = dot(numbers, columns[j], scores.at[i][j]);
        }
      }
    }
  }
}

// One of four rows of w, by the weights of the rows of sums.
DEVICE void add_row(Sums& sums, const float (&weights)[ROWS], const float* w) {
#pragma unroll
  for (int32 j = 0; j < SUMS; j += 2) {
    const float2 numbers = *(const float2*)(w + sum_column(j));
#pragma unroll
    for (int32 i = 0; i < ROWS; ++i) {
      sums.at[i][j] = fmaf(weights[i], numbers.x, sums.at[i][j]);
      sums.at[i][j + 1] = fmaf(weights[i], numbers.y, sums.at[i][j + 1]);
    }
  }
}

// sums += weights w, of w's rows from `row` on and its columns from `column` on.
DEVICE void add_products(Sums& sums, const Scores& weights, const Lines<const T>& w, int32 row,
                         int32 column, int32 in_fours, const Room& room) {
  __syncwarp();  // its weights before have been read
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      room.weights[row_of(i) * PADDED_TILE + column_of(j)] = weights.at[i][j];
    }
  }
  const int32 rows = min(TILE, w.count - row);
  for (int32 begin = 0; begin < rows; begin += KEPT_ROWS) {
    __syncthreads();
    stage<KEPT_ROWS, WIDTH, WIDTH>(room.staged, w, row + begin, column, in_fours);
    __syncthreads();
    const int32 end = min(KEPT_ROWS, rows - begin);
    for (int32 s = 0; s < end; s += 4) {
      float4 fours[ROWS];
#pragma unroll
      for (int32 i = 0; i < ROWS; ++i) {
        fours[i] = four(room.weights + row_of(i) * PADDED_TILE + begin + s);
      }
#pragma unroll
      for (int32 k = 0; k < 4; ++k) {
        float numbers[ROWS];
#pragma unroll
        for (int32 i = 0; i < ROWS; ++i) {
          numbers[i] = k == 0 ? fours[i].x : k == 1 ? fours[i].y : k == 2 ? fours[i].z : fours[i].w;
        }
        add_row(sums, numbers, room.staged + (s + k) * WIDTH);
      }
    }
  }
}
)cuda";

/// What the passes have in common of scores, whoever multiplies.
inline constexpr std::string_view kScoresText = R"cuda(
// Bit i * COLUMNS + j: whether the query and the key of an element of a tile belong together. Rows
// are queries, or keys.
template <bool kRowsAreQueries>
DEVICE uint32 visible(const Operands& x, const Head& head, int32 row, int32 column) {
  const int32 m = kRowsAreQueries ? row : column, s = kRowsAreQueries ? column : row;
  if (sees_all(x, head, m, s)) return 0xffffffffu;
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

DEVICE void clear(Sums& sums) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < SUMS; ++j) sums.at[i][j] = 0.0f;
  }
}

// factors[i] x sums to lines from `row` on, columns from `column` on.
DEVICE void write(const Sums& sums, const float (&factors)[ROWS], const Lines<T>& lines, int32 row,
                  int32 column) {
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
    if (row + row_of(i) >= lines.count) continue;
    T* const to = line(lines, row + row_of(i));
#pragma unroll
    for (int32 j = 0; j < SUMS; ++j) {
      const int32 c = column + sum_column(j);
      if (c < lines.width) to[c] = from_float<T>(factors[i] * sums.at[i][j]);
    }
  }
}
)cuda";

}  // namespace meshwork::cuda::attention

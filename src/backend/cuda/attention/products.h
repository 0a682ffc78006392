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
#define STAGED ((TILE_ROWS + TILE_COLUMNS) * PADDED)
#define PADDED_TILE (TILE_COLUMNS + 4)
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
  float* staged;   // [STAGED]
  float* weights;  // [TILE_ROWS][PADDED_TILE]
};
#define MAKE_ROOM(room)                                             \
  __shared__ __align__(16) float staged_memory[STAGED];             \
  __shared__ __align__(16) float weights_memory[TILE_ROWS * PADDED_TILE]; \
  const Room room = {staged_memory, weights_memory}

template <class Number>
DEVICE float4 four(const Number* from) {
  const Pack<Number, 4> x = load<4>(from);
  return make_float4(to_float(x.at[0]), to_float(x.at[1]), to_float(x.at[2]), to_float(x.at[3]));
}

// The first `count` of four elements; zeros behind them.
DEVICE float4 some_of_four(const T* from, int32 count) {
  return make_float4(count > 0 ? to_float(from[0]) : 0.0f, count > 1 ? to_float(from[1]) : 0.0f,
                     count > 2 ? to_float(from[2]) : 0.0f, count > 3 ? to_float(from[3]) : 0.0f);
}

// Four elements of a row of x; zeros where it ends.
DEVICE float4 four_at(const Lines<const T>& x, int32 row, int32 column, int32 is_aligned) {
  const int32 left = row < x.count ? x.width - column : 0;
  if (left <= 0) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const T* const from = line(x, row) + column;
  return is_aligned ? four(from) : some_of_four(from, left);
}

// Rows and columns of x, from the first ones on.
template <int kRows, int kColumns, int kPadded>
DEVICE void stage(float* staged, const Lines<const T>& x, int32 first, int32 column,
                  int32 is_aligned) {
  constexpr int kFours = kColumns / 4;
  if (is_aligned && first + kRows <= x.count && column + kColumns <= x.width) {
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
    *(float4*)(staged + i * kPadded + c) = four_at(x, first + i, column + c, is_aligned);
  }
}

DEVICE float dot(float4 x, float4 w, float sum) {
  return fmaf(x.w, w.w, fmaf(x.z, w.z, fmaf(x.y, w.y, fmaf(x.x, w.x, sum))));
}

// Rows that are multiplied again and again.
struct Fixed {
  Lines<const T> lines;
  int32 row;
};
DEVICE Fixed fixed(const Lines<const T>& x, int32 row, int32, const Room&) { return {x, row}; }

// Rows by which they are multiplied. Two such tiles may be asked for at once; they are there after
// all_there().
struct Tile {
  Lines<const T> lines;
  int32 row;
};
DEVICE Tile tile(const Lines<const T>& x, int32 row, int32 /*place*/, int32, const Room&) {
  return {x, row};
}
DEVICE void all_there() {}

// Scores: x w^T.
DEVICE void dots(Scores& scores, const Fixed& x, const Tile& w, int32 is_aligned,
                 const Room& room) {
  clear(scores.at);
  float* const of_w = room.staged + TILE_ROWS * PADDED;
  for (int32 begin = 0; begin < w.lines.width; begin += CHUNK) {
    __syncthreads();
    stage<TILE_ROWS, CHUNK, PADDED>(room.staged, x.lines, x.row, begin, is_aligned);
    stage<TILE_COLUMNS, CHUNK, PADDED>(of_w, w.lines, w.row, begin, is_aligned);
    __syncthreads();
    const int32 features = min(CHUNK, w.lines.width - begin);
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

// sums += weights w, of w's columns from `column` on.
DEVICE void add_products(Sums& sums, const Scores& weights, const Tile& w, int32 column,
                         int32 is_aligned, const Room& room) {
  __syncwarp();  // its weights before have been read
#pragma unroll
  for (int32 i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int32 j = 0; j < COLUMNS; ++j) {
      room.weights[row_of(i) * PADDED_TILE + column_of(j)] = weights.at[i][j];
    }
  }
  const int32 rows = min(TILE_COLUMNS, w.lines.count - w.row);
  for (int32 begin = 0; begin < rows; begin += KEPT_ROWS) {
    __syncthreads();
    stage<KEPT_ROWS, WIDTH, WIDTH>(room.staged, w.lines, w.row + begin, column, is_aligned);
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

}  // namespace meshwork::cuda::attention

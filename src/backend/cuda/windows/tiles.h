#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/cuda/stream.h"

namespace meshwork::cuda::windows {

/// Rows and columns of a product that a block of kThreads threads computes.
struct Tile {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

inline constexpr int kThreads = 256;

/// Terms of the sums that a block takes at a time.
inline constexpr std::int64_t kDepth = 16;

/// So many blocks of kThreads; too many are a broken invariant.
Grid grid_of_tiles(std::int64_t blocks);

/// For `stacks` products of so many rows and columns; smaller ones where large ones would leave
/// most of a GPU idle. The sums are the same whatever the tile.
Tile tile_of(std::int64_t stacks, std::int64_t rows, std::int64_t columns);

/// Tiles that cover so many elements.
std::int64_t tiles_over(std::int64_t elements, std::int64_t tile);
/// The same, as kernels take it.
std::int32_t tile_count(std::int64_t elements, std::int64_t tile);

/// "#define TM 128\n#define TN 64\n".
std::string define_tile(const Tile& tile);

/// A tile of a product in registers, and the slices of its operands in shared memory, by turns: one
/// is read while the next is written. Behind kGeometryText; TM, TN are defined.
inline constexpr std::string_view kWindowTilesText = R"cuda(
#define THREADS 256
#define DEPTH 16        // terms of a slice
#define RM (TM / 16)    // rows of a thread, in fours
#define RN (TN / 16)    // columns of a thread, in groups of CN
#define CN (RN < 4 ? RN : 4)
#define BLOCKS (TM * TN < 8192 ? 3 : 2)  // of a multiprocessor at least, by registers

struct alignas(16) Tiles {
  float a[2][DEPTH][TM + 4];  // rows side by side
  float b[2][DEPTH][TN];      // columns side by side
};

// What a block computes: a tile of one of the products of a group.
struct Task {
  int32 row_tile, column_tile, group, product;
};

DEVICE Task task_of(int32 row_tiles, int32 column_tiles, int32 groups) {
  int32 block = blockIdx.x;
  Task task;
  task.column_tile = block % column_tiles;
  block /= column_tiles;
  task.row_tile = block % row_tiles;
  block /= row_tiles;
  task.group = block % groups;
  task.product = block / groups;
  return task;
}

// A warp has 4 x 8 threads, a block 4 x 2 warps.
DEVICE int32 first_row() { return (threadIdx.x / 64 * 4 + threadIdx.x % 32 / 8) * 4; }
DEVICE int32 first_column() { return (threadIdx.x / 32 % 2 * 8 + threadIdx.x % 8) * CN; }
DEVICE int32 row_of(int32 i) { return first_row() + i / 4 * 64 + i % 4; }
DEVICE int32 column_of(int32 j) { return first_column() + j / CN * 16 * CN + j % CN; }

// sums += a b over one slice.
DEVICE void multiply(float (&sums)[RM][RN], const Tiles& tiles, int32 turn) {
#pragma unroll
  for (int32 k = 0; k < DEPTH; ++k) {
    float a[RM], b[RN];
#pragma unroll
    for (int32 i = 0; i < RM; i += 4) {
      const Pack<float, 4> pack = load<4>(&tiles.a[turn][k][first_row() + i * 16]);
#pragma unroll
      for (int32 j = 0; j < 4; ++j) a[i + j] = pack.at[j];
    }
#pragma unroll
    for (int32 i = 0; i < RN; i += CN) {
      const Pack<float, CN> pack = load<CN>(&tiles.b[turn][k][first_column() + i * 16]);
#pragma unroll
      for (int32 j = 0; j < CN; ++j) b[i + j] = pack.at[j];
    }
#pragma unroll
    for (int32 i = 0; i < RM; ++i) {
#pragma unroll
      for (int32 j = 0; j < RN; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
    }
  }
}

// The slice of a row-major matrix from row k on, columns of this tile: numbers of b that a thread
// brings, WB at a time. `from` is the tile's first column of row 0.
template <int WB>
struct Matrix {
  static constexpr int32 kAcross = TN / WB, kDown = THREADS / kAcross;

  template <class N>
  DEVICE void read(N (&to)[RN], const N* from, int64 line, int64 k, int64 rows,
                   int32 columns) {
    const int32 column = threadIdx.x % kAcross * WB;
#pragma unroll
    for (int32 i = 0; i < RN / WB; ++i) {
      const int64 row = k + threadIdx.x / kAcross + i * kDown;
      load_or_zero<WB>(to + i * WB, from + row * line + column, row < rows && column < columns);
    }
  }
  template <class N>
  DEVICE void write(float (&to)[DEPTH][TN], const N (&from)[RN]) {
    const int32 column = threadIdx.x % kAcross * WB;
#pragma unroll
    for (int32 i = 0; i < RN; ++i) {
      to[threadIdx.x / kAcross + i / WB * kDown][column + i % WB] = to_float(from[i]);
    }
  }
};

// What threads bring of an operand whose rows follow what is summed: a row each, kCount of the 16
// terms. Threads side by side have rows side by side.
template <int kRows>
struct Lines {
  static constexpr int32 kCount = DEPTH * kRows / THREADS;

  DEVICE int32 row() { return threadIdx.x % kRows; }
  DEVICE int32 first() { return threadIdx.x / kRows * kCount; }

  template <int kLine, class N>
  DEVICE void write(float (&to)[DEPTH][kLine], const N (&from)[kCount]) {
#pragma unroll
    for (int32 i = 0; i < kCount; ++i) to[first() + i][row()] = to_float(from[i]);
  }
};

// y[..] = row i of a thread's sums; `to` is the first element of the tile's row.
template <int WY, class N>
DEVICE void write_row(N* to, const float (&sums)[RN], int32 columns) {
#pragma unroll
  for (int32 j = 0; j < RN; j += WY) {
    if (column_of(j) >= columns) continue;
    Pack<N, WY> pack;
#pragma unroll
    for (int32 v = 0; v < WY; ++v) pack.at[v] = from_float<N>(sums[j + v]);
    store(to + column_of(j), pack);
  }
}
)cuda";

}  // namespace meshwork::cuda::windows

#pragma once

namespace meshwork::cuda::products {

// y[row, line] = sum over k of matrix[line, k] few[row, k]. Sums over parts of k stand y_part
// apart.
inline constexpr char kFewRows[] = R"cuda(
struct Strides {
  int64 matrix_line, matrix_k, few_row, few_k, y_row, y_line, y_part;
};

struct Sizes {
  int64 lines, depth, part, parts;
};

DEVICE float sum_of_lanes(float x, int32 lanes) {
  for (int32 distance = lanes / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xffffffffu, x, distance);
  }
  return x;
}
)cuda";

// Lines in which k is contiguous: so many lanes of a warp share one.
inline constexpr char kFewRowsDots[] = R"cuda(
KERNEL(few_rows_dots, R* y, const T* matrix, const T* few, Walk stack, Sizes sizes, Strides s,
       const R* bias, int64 columns, int64 count, int32 log_lanes) {
  // All lanes of a warp exchange sums; those behind the end compute what is there already.
  const int64 mine = ((int64)blockIdx.x * blockDim.x + threadIdx.x) >> log_lanes;
  const Index item = (Index)(mine < count ? mine : count - 1);
  const int32 lanes = 1 << log_lanes;
  const int32 lane = threadIdx.x & (lanes - 1);
  const Index line = item % (Index)sizes.lines;
  const Index above = item / (Index)sizes.lines;
  const Index part = above % (Index)sizes.parts;
  const Places at = places_of(stack, above / (Index)sizes.parts);
  const T* line_begin = matrix + at.x + line * s.matrix_line;
  const T* few_begin = few + at.w;
  const int64 begin = part * sizes.part;
  const int64 end = begin + sizes.part < sizes.depth ? begin + sizes.part : sizes.depth;
  float sums[ROWS] = {};
#pragma unroll 4
  for (int64 k = begin + lane * WIDTH; k < end; k += lanes * WIDTH) {
    const Pack<T, WIDTH> a = load<WIDTH>(line_begin + k);
#pragma unroll
    for (int32 row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int32 i = 0; i < WIDTH; i += FEW_WIDTH) {
        const Pack<T, FEW_WIDTH> b =
            load<FEW_WIDTH>(few_begin + row * s.few_row + (k + i) * s.few_k);
#pragma unroll
        for (int32 j = 0; j < FEW_WIDTH; ++j) {
          sums[row] = fmaf(to_float(a.at[i + j]), to_float(b.at[j]), sums[row]);
        }
      }
    }
  }
#pragma unroll
  for (int32 row = 0; row < ROWS; ++row) {
    const float sum = sum_of_lanes(sums[row], lanes);
    if (lane == 0 && mine < count) {
      const int64 place = at.y + part * s.y_part + row * s.y_row + line * s.y_line;
      y[place] = from_float<R>(finish(sum, bias, columns, place));
    }
  }
}
)cuda";

// Neighbouring lines are neighbours in memory for each k: threads of a warp take WIDTH lines each,
// warps of a block take k in turn.
inline constexpr char kFewRowsColumns[] = R"cuda(
KERNEL(few_rows_columns, R* y, const T* matrix, const T* few, Walk stack, Sizes sizes, Strides s,
       const R* bias, int64 columns, int64 tiles) {
  constexpr int32 kWarps = 8, kLines = 32 * WIDTH;
  __shared__ float warp_sums[kWarps][kLines];
  const int32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Index tile = (Index)blockIdx.x % (Index)tiles;
  const Index above = (Index)blockIdx.x / (Index)tiles;
  const Index part = above % (Index)sizes.parts;
  const Places at = places_of(stack, above / (Index)sizes.parts);
  const int64 first = (int64)tile * kLines;
  const int64 line = first + lane * WIDTH;
  const int64 begin = part * sizes.part;
  const int64 end = begin + sizes.part < sizes.depth ? begin + sizes.part : sizes.depth;
  float sums[ROWS][WIDTH] = {};
  if (line < sizes.lines) {
    const T* lines = matrix + at.x + line;
    const T* few_begin = few + at.w;
#pragma unroll 4
    for (int64 k = begin + warp; k < end; k += kWarps) {
      const Pack<T, WIDTH> a = load<WIDTH>(lines + k * s.matrix_k);
#pragma unroll
      for (int32 row = 0; row < ROWS; ++row) {
        const float b = to_float(few_begin[row * s.few_row + k * s.few_k]);
#pragma unroll
        for (int32 i = 0; i < WIDTH; ++i) {
          sums[row][i] = fmaf(to_float(a.at[i]), b, sums[row][i]);
        }
      }
    }
  }
  const int64 y_begin = at.y + part * s.y_part;
#pragma unroll
  for (int32 row = 0; row < ROWS; ++row) {
    // Element i of all lanes, then i + 1: no two lanes write to one bank.
#pragma unroll
    for (int32 i = 0; i < WIDTH; ++i) warp_sums[warp][i * 32 + lane] = sums[row][i];
    __syncthreads();
    if (threadIdx.x < kLines && first + threadIdx.x < sizes.lines) {
      const int32 bank = threadIdx.x % WIDTH * 32 + threadIdx.x / WIDTH;
      float sum = 0;
      for (int32 i = 0; i < kWarps; ++i) sum += warp_sums[i][bank];
      const int64 place = y_begin + row * s.y_row + (first + threadIdx.x) * s.y_line;
      y[place] = from_float<R>(finish(sum, bias, columns, place));
    }
    __syncthreads();
  }
}
)cuda";

// A warp for each result.
inline constexpr char kFewRowsParts[] = R"cuda(
KERNEL(few_rows_parts, R* y, const float* sums, Walk results, const R* bias, int64 columns,
       int64 count, int64 parts) {
  const int64 mine = ((int64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int64 item = mine < count ? mine : count - 1;
  const int32 lane = threadIdx.x % 32;
  float sum = 0;
  for (int64 part = lane; part < parts; part += 32) sum += sums[part * count + item];
  for (int32 distance = 16; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  }
  if (lane == 0 && mine < count) {
    const int64 place = places_of(results, (Index)item).y;
    y[place] = from_float<R>(finish(sum, bias, columns, place));
  }
}
)cuda";

}  // namespace meshwork::cuda::products

// Copies of which reads run along one dimension and writes along another. A block takes a square
// tile: 32 words of 4 bytes a side, or of one element where that has more; reads and writes of
// warps then are whole lines both.
#include <algorithm>
#include <array>

#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/strided_copy.h"

namespace meshwork::cuda {
namespace {

constexpr int kMostDims = 8;
constexpr std::int64_t kLeast = 8;  // of either extent; below, the caches do as well

constexpr char kText[] = R"cuda(
#define SIDE (32 * PACK)
#define PADDING (sizeof(T) < 4 ? 4 / sizeof(T) : 1)

struct Dim {
  int64 from, to;
  Divisor extent;
};
struct Tiles {
  const T* from;
  T* to;
  int64 rows, columns;        // read along rows, written along columns
  int64 row_to, column_from;  // the strides that are not 1
  Divisor row_tiles, column_tiles;
  int32 rank;
  Dim dims[DIMS];  // of the others, the last one first
};

KERNEL(transposition, const Tiles tiles) {
  __shared__ T tile[SIDE][SIDE + PADDING];
  Index rest = blockIdx.x;
  const int64 column = (int64)take_last(rest, tiles.column_tiles) * SIDE;
  const int64 row = (int64)take_last(rest, tiles.row_tiles) * SIDE;
  const T* from = tiles.from + column * tiles.column_from + row;
  T* to = tiles.to + row * tiles.row_to + column;
  for (int d = 0; d < tiles.rank; ++d) {
    const Index place = take_last(rest, tiles.dims[d].extent);
    from += place * tiles.dims[d].from;
    to += place * tiles.dims[d].to;
  }
  const int32 x = threadIdx.x % 32 * PACK, y = threadIdx.x / 32;
  const int32 rows = (int32)min(tiles.rows - row, (int64)SIDE);
  const int32 columns = (int32)min(tiles.columns - column, (int64)SIDE);
  if (x < rows) {
#pragma unroll
    for (int32 c = y; c < SIDE; c += 8) {
      if (c >= columns) continue;
      const Pack<T, PACK> pack = load<PACK>(from + c * tiles.column_from + x);
      for (int32 i = 0; i < PACK; ++i) tile[c][x + i] = pack.at[i];
    }
  }
  __syncthreads();
  if (x < columns) {
#pragma unroll
    for (int32 r = y; r < SIDE; r += 8) {
      if (r >= rows) continue;
      Pack<T, PACK> pack;
      for (int32 i = 0; i < PACK; ++i) pack.at[i] = tile[x + i][r];
      store(to + r * tiles.row_to + x, pack);
    }
  }
}
)cuda";

// The same structs.
struct Dim {
  std::int64_t from, to;
  Divisor extent;
};
struct Tiles {
  const std::byte* from;
  std::byte* to;
  std::int64_t rows, columns;
  std::int64_t row_to, column_from;
  Divisor row_tiles, column_tiles;
  std::int32_t rank;
  std::array<Dim, kMostDims> dims;
};

/// The dimension that is read side by side; the end where there is none.
auto rows_of(const std::vector<CopyDim>& dims) {
  return std::find_if(dims.begin(), dims.end(), [](const CopyDim& dim) { return dim.from == 1; });
}

/// Elements that a thread reads and writes at once: of less than 4 bytes more than one, where all
/// that it does stays in such words.
std::int64_t pack_of(const WordCopy& copy) {
  if (copy.bytes >= 4) return 1;
  std::int64_t bytes = word_bytes({4, address_of(copy.copy.from), address_of(copy.copy.to)});
  for (const CopyDim& dim : copy.copy.dims) {
    bytes = word_bytes({bytes, copy.bytes * (dim.from == 1 ? dim.extent : dim.from),
                        copy.bytes * (dim.to == 1 ? dim.extent : dim.to)});
  }
  return std::max<std::int64_t>(bytes / copy.bytes, 1);
}

}  // namespace

bool is_transposition(const WordCopy& copy) {
  const std::vector<CopyDim>& dims = copy.copy.dims;
  if (dims.size() < 2 || dims.size() > kMostDims + 2) return false;
  const CopyDim& columns = dims.back();
  const auto rows = rows_of(dims);
  return columns.to == 1 && columns.from > 1 && rows != dims.end() && rows->extent >= kLeast &&
         columns.extent >= kLeast;
}

Launch copy_transposed(CudaStream& stream, const WordCopy& copy) {
  std::vector<CopyDim> dims = copy.copy.dims;
  const std::int64_t pack = pack_of(copy), side = 32 * pack;
  const CopyDim columns = dims.back();
  dims.pop_back();
  const auto found = rows_of(dims);
  const CopyDim rows = *found;
  dims.erase(found);
  const std::int64_t row_tiles = (rows.extent + side - 1) / side;
  const std::int64_t column_tiles = (columns.extent + side - 1) / side;
  std::int64_t blocks = row_tiles * column_tiles;
  Tiles tiles{copy.copy.from,
              copy.copy.to,
              rows.extent,
              columns.extent,
              rows.to,
              columns.from,
              divisor_of(row_tiles),
              divisor_of(column_tiles),
              static_cast<std::int32_t>(dims.size()),
              {}};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const CopyDim& dim = dims[dims.size() - 1 - d];
    tiles.dims.at(d) = {dim.from, dim.to, divisor_of(dim.extent)};
    blocks *= dim.extent;
  }
  const Source source{"transposition", std::string(kIndexText) + kText,
                      define_index(blocks) + define_word("T", copy.bytes) + define("PACK", pack) +
                          define("DIMS", kMostDims)};
  return kernel_launch(stream, source, source.name, {blocks, 256}, tiles);
}

}  // namespace meshwork::cuda

// embedding:          y[.., d] = table[index[..], d]
// embedding_gradient: y[r, d] = sum of dy[i, d] over the positions i where index[i] is r
//
// Threads take positions; of the gradient they take columns, or blocks of rows in a fusion group,
// so that each element is added up in the order of the positions, whatever the number of threads.
#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels.h"
#include "backend/cpu/row_blocks.h"
#include "backend/types.h"
#include "base/parallel.h"
#include "base/rounded_up.h"

namespace meshwork::cpu {
namespace {

/// A line of the cache in floats: threads that write next to each other do not share one.
constexpr std::int64_t kLine = 16;

/// For each position the row of the part of a table that is here; -1 where it is elsewhere.
struct Rows {
  const std::int32_t* index;
  std::int64_t first;
  std::int64_t count;

  std::int64_t operator[](std::int64_t position) const {
    const std::int64_t row = index[position] - first;
    return row >= 0 && row < count ? row : -1;
  }
};

Rows rows_of(const TensorView& table, const TensorView& index) {
  return {index.as<std::int32_t>(), table.region.offset[0], table.type.shape[0]};
}

}  // namespace

Launch embedding(const KernelArgs& args) {
  const TensorView& y = args.output;
  const auto bytes = static_cast<std::int64_t>(size_of(y.type.dtype)) * y.type.shape.back();
  return [rows = rows_of(args.inputs[0], args.inputs[1]), table = args.inputs[0].data, y = y.data,
          positions = num_elements(args.inputs[1].type.shape),
          elements = num_elements(y.type.shape), bytes] {
    const auto size = static_cast<std::size_t>(bytes);
    for_each_share(positions, elements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = rows[i];
        if (row >= 0) {
          std::memcpy(y + i * bytes, table + row * bytes, size);
        } else {
          std::memset(y + i * bytes, 0, size);
        }
      }
    });
  };
}

Launch embedding_gradient(const KernelArgs& args) {
  const TensorView& y = args.output;
  return [rows = rows_of(y, args.inputs[1]), dy = args.inputs[0].as<float>(), y = y.as<float>(),
          positions = num_elements(args.inputs[1].type.shape), width = y.type.shape[1],
          elements = num_elements(y.type.shape) + num_elements(args.inputs[0].type.shape)] {
    for_each_share(ceil_divide(width, kLine), elements, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t left = begin * kLine, right = std::min(end * kLine, width);
      for (std::int64_t row = 0; row < rows.count; ++row) {
        std::fill(y + row * width + left, y + row * width + right, 0.0F);
      }
      for (std::int64_t i = 0; i < positions; ++i) {
        const std::int64_t row = rows[i];
        if (row < 0) continue;
        float* to = y + row * width;
        const float* from = dy + i * width;
        for (std::int64_t d = left; d < right; ++d) to[d] += from[d];
      }
    });
  };
}

namespace {

/// The positions of the rows of each block, in order: `scratch` holds where those of each end, and
/// then the positions.
struct Buckets {
  Rows rows;
  std::int64_t positions;
  std::int64_t block_rows;

  std::int64_t blocks() const { return ceil_divide(rows.count, block_rows); }

  /// A counting sort.
  void sort(std::int32_t* scratch) const {
    std::int32_t* const end = scratch;
    std::int32_t* const sorted = scratch + blocks();
    std::fill_n(end, blocks(), 0);
    for (std::int64_t i = 0; i < positions; ++i) {
      if (rows[i] >= 0) ++end[rows[i] / block_rows];
    }
    std::int32_t before = 0;
    for (std::int64_t block = 0; block < blocks(); ++block) {
      before += std::exchange(end[block], before);
    }
    for (std::int64_t i = 0; i < positions; ++i) {
      if (rows[i] >= 0) sorted[end[rows[i] / block_rows]++] = static_cast<std::int32_t>(i);
    }
  }

  template <class Body>
  void for_each(const std::int32_t* scratch, std::int64_t block, const Body& body) const {
    const std::int32_t* const sorted = scratch + blocks();
    for (std::int32_t i = block == 0 ? 0 : scratch[block - 1]; i < scratch[block]; ++i) {
      body(rows[sorted[i]], sorted[i]);
    }
  }
};

template <class T>
RowBlocks rows_of_gradient(const TensorView& y, const TensorView& dy, const TensorView& index,
                           std::int64_t block) {
  const std::int64_t width = y.type.shape[1];
  const Buckets buckets{rows_of(y, index), num_elements(index.type.shape),
                        std::max<std::int64_t>(1, block / std::max<std::int64_t>(1, width))};
  return {.block = block,
          .scratch = buckets.blocks() + buckets.positions,
          .prepare = [buckets](std::int32_t* scratch) { buckets.sort(scratch); },
          .compute =
              [buckets, dy = dy.as<T>(), block, width](
                  const std::int32_t* scratch, std::int64_t begin, std::int64_t end, float* to) {
                std::fill(to, to + (end - begin), 0.0F);
                buckets.for_each(scratch, begin / block,
                                 [&](std::int64_t row, std::int64_t position) {
                                   float* const sum = to + (row * width - begin);
                                   const T* const from = dy + position * width;
                                   for (std::int64_t d = 0; d < width; ++d)
                                     sum[d] += static_cast<float>(from[d]);
                                 });
              }};
}

}  // namespace

RowBlocks embedding_gradient_rows(const FusionGroup& args, const FusionGroup::Member& member,
                                  std::int64_t block) {
  const TensorView& dy = args.inputs.at(member.operands[0]);
  const TensorView& index = args.inputs.at(member.operands[1]);
  return with_float(dy.type.dtype, [&](auto number) {
    return rows_of_gradient<decltype(number)>(member.output, dy, index, block);
  });
}

}  // namespace meshwork::cpu

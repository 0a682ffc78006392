// embedding: threads take positions. embedding_gradient: threads take columns, so that each element
// is added up in the order of the positions, whatever their number.
#include <algorithm>
#include <cstring>

#include "backend/cpu/kernels.h"
#include "base/parallel.h"

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

}  // namespace meshwork::cpu

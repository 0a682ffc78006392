#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/block_counts.h"
#include "base/dtype.h"
#include "base/rounded_up.h"
#include "device/stream.h"

namespace meshwork {

/// Bytes of `count` elements.
inline std::size_t bytes_of(std::int64_t count, DType dtype) {
  return static_cast<std::size_t>(count) * size_of(dtype);
}

/// The one member that has anything; -1: several have, or none.
inline int only_giver(std::span<const std::int64_t> counts) {
  const auto gives = [](std::int64_t count) { return count > 0; };
  const auto first = std::find_if(counts.begin(), counts.end(), gives);
  const bool is_alone = first != counts.end() && std::none_of(first + 1, counts.end(), gives);
  return is_alone ? static_cast<int>(first - counts.begin()) : -1;
}

/// `base` moved on by `count` elements.
inline const std::byte* advance(const void* base, std::int64_t count, DType dtype) {
  return static_cast<const std::byte*>(base) + bytes_of(count, dtype);
}
inline std::byte* advance(void* base, std::int64_t count, DType dtype) {
  return static_cast<std::byte*>(base) + bytes_of(count, dtype);
}

/// Enqueues a copy of `count` elements.
inline void copy_elements(Stream& stream, void* to, const void* from, std::int64_t count,
                          DType dtype) {
  stream.copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
              static_cast<std::int64_t>(bytes_of(count, dtype)));
}

/// Where part `index` of `count` elements begins, cut in `parts` whose borders are cache lines of
/// a line-aligned buffer; part `parts` begins at `count`.
inline std::int64_t part_begin(std::int64_t count, int index, int parts, DType dtype) {
  const auto line = static_cast<std::int64_t>(64 / size_of(dtype));
  const std::int64_t lines = ceil_divide(count, line);
  const std::int64_t begin = lines * index / parts * line;
  return begin < count ? begin : count;
}

}  // namespace meshwork

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/shape.h"
#include "state/tensor_part.h"

namespace meshwork::test {

struct Shard {
  Region region;
  Shape shape;
};

/// Block `index` of a tensor cut into parts[d] balanced blocks along each dimension, counted
/// row-major: 10 over 4 gives 3, 3, 2, 2.
inline Shard shard_of(const Shape& global, const Shape& parts, std::int64_t index) {
  Shard shard{{global, global}, global};
  for (std::size_t d = global.size(); d-- > 0;) {
    const std::int64_t block = index % parts[d];
    index /= parts[d];
    const std::int64_t least = global[d] / parts[d];
    const std::int64_t more = global[d] % parts[d];
    shard.region.offset[d] = block * least + std::min(block, more);
    shard.shape[d] = least + (block < more ? 1 : 0);
  }
  return shard;
}

/// Row-major index in the global tensor of element `local` of the shard.
inline std::int64_t global_index(const Shard& shard, std::int64_t local) {
  std::int64_t index = 0;
  std::int64_t stride = 1;
  for (std::size_t d = shard.shape.size(); d-- > 0;) {
    index += (shard.region.offset[d] + local % shard.shape[d]) * stride;
    stride *= shard.region.global[d];
    local /= shard.shape[d];
  }
  return index;
}

/// The elements of a shard of a tensor.
template <class T>
std::vector<T> cut(const std::vector<T>& whole, const Shard& shard) {
  std::vector<T> part;
  for (std::int64_t i = 0; i < num_elements(shard.shape); ++i) {
    part.push_back(whole[static_cast<std::size_t>(global_index(shard, i))]);
  }
  return part;
}

/// Of numbers that outlive it.
template <class T>
ReadPart reader_of(const std::vector<T>& values) {
  return [data = reinterpret_cast<const std::byte*>(values.data())](
             std::int64_t begin, std::int64_t /*bytes*/) { return data + begin; };
}

template <class T>
TensorPart part_of(std::size_t tensor, const Shard& shard, const std::vector<T>& values,
                   bool owner = true) {
  return {.tensor = tensor,
          .region = shard.region,
          .shape = shard.shape,
          .read = reader_of(values),
          .owner = owner};
}

}  // namespace meshwork::test

#pragma once

#include <cudnn_graph.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulated_gpu::cudnn {

/// With so many bits of mantissa behind the first one, ties to even.
float rounded(float value, unsigned bits);
/// The nearest number of the type.
float rounded(float value, cudnnDataType_t type);

/// The element at a place, which counts elements.
float read(const std::byte* data, cudnnDataType_t type, std::int64_t place);
void write(std::byte* data, cudnnDataType_t type, std::int64_t place, float value);

/// Calls visit(index, places) for every index of the dims, the last one fastest: where the elements
/// of N tensors with these strides are.
template <std::size_t N, class Visit>
void for_each(const std::vector<std::int64_t>& dims,
              const std::array<std::vector<std::int64_t>, N>& strides, const Visit& visit) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  std::vector<std::int64_t> index(dims.size());
  std::array<std::int64_t, N> places{};
  for (std::int64_t i = 0; i < count; ++i) {
    visit(index, places);
    for (std::size_t d = dims.size(); d-- > 0;) {
      const bool ends = ++index[d] == dims[d];
      for (std::size_t n = 0; n < N; ++n) {
        places[n] += ends ? strides[n][d] * (1 - dims[d]) : strides[n][d];
      }
      if (!ends) break;
      index[d] = 0;
    }
  }
}

}  // namespace emulated_gpu::cudnn

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// A dense row-major tensor in the test's own memory.
struct HostTensor {
  TensorType type;
  std::vector<std::byte> bytes;

  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <class T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  bool operator==(const HostTensor&) const = default;
};

/// Zeros.
HostTensor host_tensor(const TensorType& type);
/// float32 with these elements.
HostTensor host_tensor(const Shape& shape, const std::vector<float>& elements);
/// int32 with these elements.
HostTensor host_tensor(const Shape& shape, const std::vector<std::int32_t>& elements);

/// The elements as doubles, whatever the dtype.
std::vector<double> to_doubles(const HostTensor& tensor);

/// "" if types are equal and each |a - b| <= tolerance * (1 + |b|), with NaN equal to NaN and
/// infinities to themselves; else the first element that differs, with both values.
std::string difference(const HostTensor& a, const HostTensor& b, double tolerance);

/// The part of a tensor that a region of extents `local` at `offset` shows.
HostTensor cut(const HostTensor& whole, const Shape& offset, const Shape& local);

}  // namespace meshwork

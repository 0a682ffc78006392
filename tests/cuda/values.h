#pragma once

#include <functional>

#include "support/host_tensor.h"

namespace meshwork::testing {

/// Any bytes.
HostTensor random_bytes(const TensorType& type);

/// int32 numbers from `low` to `high`.
HostTensor random_integers(const Shape& shape, std::int64_t low, std::int64_t high);

/// Multiples of 1/64 in [-8, 8], as a floating dtype.
HostTensor random_fractions(const TensorType& type);

/// A tensor of value(i), rounded to the dtype.
HostTensor filled(const TensorType& type, const std::function<double(std::int64_t)>& value);

/// Numbers in [-1, 1), the same in every call.
HostTensor noise(const TensorType& type, std::uint64_t seed, double scale = 1);

}  // namespace meshwork::testing

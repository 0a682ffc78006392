#pragma once

#include <functional>
#include <optional>

#include "support/kernel_call.h"

namespace meshwork::testing {

/// Where the tensors of a call lie.
struct Placing {
  std::int64_t shift = 0;               ///< bytes of each behind a place that is aligned
  std::optional<std::size_t> in_place = {};  ///< the operand where the result stands
};

/// As call_kernel on whole tensors, on GPU 0: with scratch that holds garbage, and a CHECK that
/// nothing was written behind the result.
HostTensor guarded_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, const Placing& placing = {});

/// The naive kernel's result.
HostTensor naive_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                      const TensorType& output);

/// A tensor of value(i), rounded to the dtype.
HostTensor filled(const TensorType& type, const std::function<double(std::int64_t)>& value);

/// Numbers in [-1, 1), the same in every call.
HostTensor noise(const TensorType& type, std::uint64_t seed, double scale = 1);

}  // namespace meshwork::testing

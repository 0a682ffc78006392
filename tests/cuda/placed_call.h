#pragma once

#include "support/kernel_call.h"

namespace meshwork::testing {

/// One call of a kernel.
struct Call {
  const OpDef& op;
  std::vector<Part> inputs;
  Attrs attrs;
  TensorType output;
  Region region;  ///< of the output
};

/// A call on one device that holds all.
Call whole_call(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                const TensorType& output);

/// How the tensors of a call stand in memory.
struct Places {
  std::int64_t shift = 0;  ///< elements from an aligned address to each
  int over = -1;           ///< the operand whose place the result takes; -1: none
};

/// The result of the GPU's kernel.
HostTensor call_placed(const Call& call, const Places& places = {});

/// CHECKs that the GPU's kernel gives the very bytes of the naive one, twice.
void check_bytes(const Call& call, const Places& places = {});

/// Any bytes.
HostTensor random_bytes(const TensorType& type);

/// int32 numbers from `low` to `high`.
HostTensor random_integers(const Shape& shape, std::int64_t low, std::int64_t high);

/// Multiples of 1/64 in [-8, 8], as a floating dtype.
HostTensor random_fractions(const TensorType& type);

}  // namespace meshwork::testing

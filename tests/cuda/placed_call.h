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
  int in_place = -1;       ///< the operand whose place the result takes; -1: none
};

/// The result of the GPU's kernel, whose result and scratch hold garbage before. CHECKs that it
/// writes nothing behind them.
HostTensor call_placed(const Call& call, const Places& places = {});
/// The naive kernel's.
HostTensor call_naive(const Call& call);

// The same of whole tensors.
HostTensor call_placed(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, const Places& places = {});
HostTensor call_naive(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                      const TensorType& output);

/// CHECKs that the GPU's kernel gives the very bytes of the naive one, twice.
void check_bytes(const Call& call, const Places& places = {});

/// The same, but for the bits of what is no number.
void check_numbers(const Call& call, const Places& places = {});

/// CHECKs that the GPU's kernel gives what the naive one does within `tolerance`, twice the same,
/// and where nothing is aligned, too. Returns the result of the GPU's.
HostTensor check_close(const OpDef& op, const std::vector<HostTensor>& inputs, const Attrs& attrs,
                       const TensorType& output, double tolerance);

}  // namespace meshwork::testing

#pragma once

#include <vector>

#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "support/kernel_call.h"

namespace meshwork::testing {

/// A weight is rounded by 2^-9, by which a sum of values of some units differs, and the result; of
/// float16 by 2^-12.
constexpr double kRounded = 1.0 / 64;
constexpr double kRoundedToFloat16 = 1.0 / 256;

struct Sizes {
  std::int64_t b, t, g, r, d, s, e;
};

/// Operands of all ops of attention, random; log_sum is that of the queries and keys.
struct Attention {
  Attrs attrs;
  Part q, k, v, dy, log_sum, delta;
  std::vector<Part> extras;

  Attention(const Sizes& x, const AttentionOptions& options, const Shape& mask = {},
            DType dtype = DType::kFloat32);

  void know_log_sum();
  /// Of gradients the result takes the place of delta.
  void know_result();
  /// The log_sum stands head by head.
  void turn_log_sum();

  std::vector<Part> operands(const OpDef& op) const;

  /// The same numbers in float32.
  Attention in_float32() const;

  /// The operand that the result is like.
  const Part& like(const OpDef& op) const;

  HostTensor run(Backend& backend, const OpDef& op) const;
};

/// Ops of the same operands as one fusion group, in memory of the backend.
struct Together {
  FusionGroup group{.kind = FusionGroup::Kind::kSiblings, .inputs = {}, .members = {}};
  std::unique_ptr<Stream> stream;
  std::vector<std::shared_ptr<std::byte>> memory;

  Together(Backend& backend, const Attention& x, const std::vector<const OpDef*>& ops);
  std::vector<HostTensor> results(Backend& backend) const;
};

}  // namespace meshwork::testing

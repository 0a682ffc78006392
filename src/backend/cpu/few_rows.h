#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/einsum_plan.h"

namespace meshwork::cpu {

/// y = x w of float32 where y has few rows, as when one token is generated: w is read once, as it
/// lies, and nothing is packed. No bit depends on the number of threads.
class FewRows {
 public:
  /// Whether the product of a plan is one for which this pays.
  static bool pays(const EinsumPlan& plan);

  FewRows(const EinsumPlan& plan, const std::byte* x, const std::byte* w, std::byte* y);

  void operator()() const;

  /// What a thread computes: columns [begin, end) of y.
  struct Part {
    const float* x;
    std::int64_t x_stride;  ///< of rows
    const float* w;
    std::int64_t w_stride;  ///< of rows k, or where it is transposed of columns n
    float* y;
    std::int64_t y_stride;  ///< of rows
    std::int64_t k;
    std::int64_t begin;
    std::int64_t end;
  };

 private:
  Part all_;
  void (*compute_)(Part part);
};

}  // namespace meshwork::cpu

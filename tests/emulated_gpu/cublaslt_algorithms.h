#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <vector>

#include "emulated_gpu/cublaslt_descriptors.h"

namespace emulated_gpu {

/// What an opaque algorithm holds.
struct Algorithm {
  enum class Kind : std::uint32_t {
    kInOrder,   ///< of the sum; takes EMULATED_GPU_SLOW_PRODUCTS microseconds more
    kAnyOrder,  ///< parts are added where the result stands: other bits each time
    kInHalves,  ///< a sum of two sums, which needs a workspace
    kRefused,   ///< that heuristics know not to compute anything
    kUnable,    ///< that they do not know of
    kSlowest,   ///< in order, in twice the additional time
    kEnd
  };

  std::uint64_t mark, workspace;
  std::uint32_t alignment_a, alignment_b, alignment_c, alignment_d;
  Kind kind;

  static constexpr std::uint64_t kMark = 0x656D756C61746564;

  bool is_one() const { return mark == kMark && kind < Kind::kEnd; }
  /// Where the second part of a sum of so many products begins; at its end where there is one part.
  std::int64_t split(std::int64_t depth) const;
  /// What it dawdles for.
  void take_time() const;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

Algorithm algorithm_for(const Preference& preference, Algorithm::Kind kind);

/// Those that may be chosen, in the order of heuristics, which is not that of their speed.
std::vector<Algorithm> algorithms_for(const Preference& preference);

}  // namespace emulated_gpu

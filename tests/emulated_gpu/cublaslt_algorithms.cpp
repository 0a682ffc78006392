#include "emulated_gpu/cublaslt_algorithms.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "emulated_gpu/settings.h"

namespace emulated_gpu {
namespace {

constexpr std::uint64_t kWorkspace = 4096;  ///< of algorithms that take one, bytes

bool allows(const Preference& preference, std::uint32_t scheme) {
  return (preference.reduction_schemes & scheme) != 0;
}

}  // namespace

std::int64_t Algorithm::split(std::int64_t depth) const {
  static std::atomic<std::int64_t> calls{0};
  if (kind == Kind::kInHalves) return (depth + 1) / 2;
  if (kind == Kind::kAnyOrder) return 1 + calls++ % depth;
  return depth;
}

void Algorithm::take_time() const {
  const std::int64_t more = settings().slow_products;
  const int times = kind == Kind::kInOrder ? 1 : kind == Kind::kSlowest ? 2 : 0;
  if (more * times > 0) std::this_thread::sleep_for(std::chrono::microseconds(more * times));
}

Algorithm algorithm_for(const Preference& preference, Algorithm::Kind kind) {
  return {Algorithm::kMark,
          std::min(preference.workspace, kWorkspace),
          preference.alignment_a,
          preference.alignment_b,
          preference.alignment_c,
          preference.alignment_d,
          kind};
}

std::vector<Algorithm> algorithms_for(const Preference& preference) {
  using Kind = Algorithm::Kind;
  if (!settings().has_heuristics) return {};
  std::vector<Kind> kinds{Kind::kInOrder};
  if (allows(preference, CUBLASLT_REDUCTION_SCHEME_INPLACE)) kinds.push_back(Kind::kAnyOrder);
  kinds.push_back(Kind::kRefused);
  const bool has_workspace = preference.workspace >= kWorkspace;
  if (has_workspace && allows(preference, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)) {
    kinds.push_back(Kind::kInHalves);
  }
  kinds.insert(kinds.end(), {Kind::kUnable, Kind::kSlowest});
  std::vector<Algorithm> algorithms;
  for (const Kind kind : kinds) algorithms.push_back(algorithm_for(preference, kind));
  return algorithms;
}

}  // namespace emulated_gpu

#pragma once

#include <string_view>

namespace meshwork::cuda {

/// For kernels that do several tasks of one kind side by side.
inline constexpr std::string_view kBesideText = R"cuda(
// Which task the block belongs to: `ends` of the blocks of each, one task behind the other, of COUNT
// tasks, a power of two.
template <uint32 COUNT>
DEVICE uint32 find_task(const uint32 (&ends)[COUNT]) {
  uint32 task = 0;
#pragma unroll
  for (uint32 half = COUNT / 2; half > 0; half /= 2) {
    if (blockIdx.x >= ends[task + half - 1]) task += half;
  }
  return task;
}
)cuda";

}  // namespace meshwork::cuda

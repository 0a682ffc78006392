// What all lanes of a warp do at once.
#pragma once

#include <array>

namespace emulated_gpu {

struct LaneWork;
using WarpWork = std::array<LaneWork*, 32>;

/// What a lane brings to it.
struct LaneWork {
  void (*together)(const WarpWork& lanes);  ///< the same of all lanes
};

}  // namespace emulated_gpu

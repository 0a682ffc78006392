#pragma once

#include <cstddef>
#include <cstdint>

namespace emulated_gpu {

/// What the environment says, read once.
struct Settings {
  int gpus = 1;                                ///< EMULATED_GPUS
  std::size_t memory = std::size_t{4} << 30U;  ///< EMULATED_GPU_MEMORY, bytes of each
  int driver_version = 13000;                  ///< EMULATED_GPU_DRIVER_VERSION
  int major = 9, minor = 0;                    ///< EMULATED_GPU_CAPABILITY, as in "9.0"
  std::int64_t failing_launch = 0;             ///< EMULATED_GPU_FAIL_LAUNCH, from 1; 0: none
  std::int64_t graphs = -1;                    ///< EMULATED_GPU_GRAPHS; negative: any number
  std::int64_t slow_products = 0;              ///< EMULATED_GPU_SLOW_PRODUCTS, microseconds
  bool has_heuristics = true;                  ///< not EMULATED_GPU_NO_HEURISTICS
  std::uint64_t seed = 0;                      ///< EMULATED_GPU_SEED
  bool shares = true;                          ///< EMULATED_GPU_IPC is not "none"
  bool opens = true;                           ///< it is not "closed" either
};

const Settings& settings();

}  // namespace emulated_gpu

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "emulated_gpu/compiler.h"

namespace emulated_gpu {

/// What NVIDIA's NVRTC, where EMULATED_GPU_NVRTC names one, has to say against a program, compiled
/// for sm_90; nothing if it compiles, or if there is no such library to ask.
std::optional<std::string> real_errors(const Program& program,
                                       const std::vector<std::string>& options);

}  // namespace emulated_gpu

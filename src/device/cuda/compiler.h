#pragma once

#include "device/cuda/gpu.h"

namespace meshwork::cuda {

/// Opens NVRTC, the compiler. Throws a configuration Error where it is missing.
void check_compiler();

/// Compiles a source for GPUs of a compute capability (90: 9.0) and loads it into the context of
/// the calling thread. What was compiled is kept (cache.h).
CUmodule load_module(const Source& source, int capability);

}  // namespace meshwork::cuda

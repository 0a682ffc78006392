#pragma once

#include "device/cuda/gpu.h"

namespace meshwork::cuda {

/// Opens NVRTC, the compiler. Throws a configuration Error where it is missing.
void check_compiler();

/// Compiles a source for GPUs of a compute capability (90: 9.0) and loads it into the context of
/// the calling thread. What was compiled is kept in a folder of files, named by what they are made
/// of: MESHWORK_CUDA_CACHE, else meshwork/cuda in XDG_CACHE_HOME or ~/.cache; where it cannot be
/// written, every process compiles anew.
CUmodule load_module(const Source& source, int capability);

}  // namespace meshwork::cuda

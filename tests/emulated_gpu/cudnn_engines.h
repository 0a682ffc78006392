#pragma once

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// What the heuristics say of a graph, the best first: among them what cuDNN 9.19 says of its kind
/// on an H100, and before those that a program may choose some that it may not.
std::vector<Engine> engines_for(const Descriptor& graph);

}  // namespace emulated_gpu::cudnn

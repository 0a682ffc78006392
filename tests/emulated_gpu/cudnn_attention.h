#pragma once

#include "emulated_gpu/cudnn_descriptors.h"

namespace emulated_gpu::cudnn {

/// What the heuristics say of a graph of attention, the best first, after those that a program may
/// not choose; nothing of one that the fused kernels of an H100 do not take.
std::vector<Engine> attention_engines_for(const Descriptor& graph);

}  // namespace emulated_gpu::cudnn

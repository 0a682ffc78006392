#pragma once

#include <vector>

#include "backend/cuda/cudnn/descriptor.h"
#include "backend/cuda/windows/cudnn/problem.h"

namespace meshwork::cuda::windows {

/// A problem as a graph of operations; the last description is the graph, the others are those that
/// it refers to. Throws an Error where cuDNN does not take it.
std::vector<cudnn::Descriptor> describe(cudnnHandle_t handle, const Problem& problem);

}  // namespace meshwork::cuda::windows

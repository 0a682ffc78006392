#pragma once

#include "backend/cuda/windows/cudnn/by_cudnn.h"

namespace meshwork::cuda::windows {

/// Whether products are those of tensor cores.
bool takes_tensor_cores(const Task& task);

DType operand_dtype(const Task& task);

/// Whether cuDNN can say it: nothing is empty, or of more elements than it counts, and no window
/// leaves out elements in front. Of float32 that must not be rounded it is not asked: on the layers
/// of ResNets, on an H100, our own kernels are faster than what cuDNN 9.19 has without Fourier's
/// transforms, up to 15 times, or up to 20 % slower; but for gradients of filters by one that
/// rounds on the way, without a note of it.
bool cudnn_takes(const Task& task);

/// The padding that the last window needs behind x; negative where more than a stride is left over.
std::int64_t padding_behind(const Slide& slide);

// Scratch: a filter in cuDNN's layout, then what an algorithm takes.
std::int64_t filter_bytes(const Task& task);
std::int64_t algorithm_workspace(const Task& task);

}  // namespace meshwork::cuda::windows

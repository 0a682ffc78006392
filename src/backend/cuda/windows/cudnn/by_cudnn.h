#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/windows/convolution.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::windows {

/// A convolution or one of its gradients, as cuDNN is asked for it.
struct Task {
  Sought sought = Sought::kY;
  Convolution c;
  TensorView x, w, y;
  bool tensor_float32 = false;  ///< operands of float32 may be rounded to 10 bits of mantissa
};

/// What the ops convolution, convolution_backward_data and convolution_backward_filter compute.
Task task_of(Sought sought, const KernelArgs& args);

/// Whether cuDNN is worth asking, by shapes and dtypes alone; MESHWORK_CUDNN=never and =always say
/// it for all that cuDNN takes.
bool is_for_cudnn(const Task& task);

/// Bytes of scratch for it, by shapes and dtypes alone: algorithms that want more are not chosen.
/// Those of narrow dtypes that find channels of whole 16 bytes take next to nothing; others copy
/// the tensors, channels first or filled up. Gradients of filters are added up in parts. So much
/// is enough for the first choice of cuDNN 9.19 on the layers of a ResNet-50, from sm_75 to sm_100.
std::int64_t cudnn_workspace(const Task& task);

/// The task by cuDNN, with so much scratch; nothing where cuDNN is missing, or has no algorithm
/// that gives the same bits each time and adds up in float32.
std::optional<Launch> launch_by_cudnn(CudaStream& stream, const Task& task, std::byte* workspace);

}  // namespace meshwork::cuda::windows

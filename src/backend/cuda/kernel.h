#pragma once

#include <string>

#include "backend/backend.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda {

/// The name of a dtype in kernels: "float", "bfloat16", "int32".
std::string type_name(DType dtype);

/// "#define T bfloat16\n".
std::string define(const std::string& name, DType dtype);
std::string define(const std::string& name, std::int64_t value);

/// The stream that a kernel is bound to.
CudaStream& stream_of(const KernelArgs& args);

/// Bytes of parameters that a kernel takes from compute capability 7.0 on, in whole words.
constexpr std::size_t kParameterBytes = 32760;

/// Whether operands of float32 may be rounded to TensorFloat-32.
bool allows_tensor_float32(const KernelArgs& args);

/// The kernel called as its source, over `elements` of a result, one for a thread (FOR_EACH).
template <class... Arguments>
Launch launch_over(const KernelArgs& args, const Source& source, std::int64_t elements,
                   Arguments... arguments) {
  return kernel_launch(stream_of(args), source, source.name, grid_of(elements), arguments...);
}

}  // namespace meshwork::cuda

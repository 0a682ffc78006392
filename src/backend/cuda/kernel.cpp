#include "backend/cuda/kernel.h"

#include "base/check.h"

namespace meshwork::cuda {

std::string type_name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float";
    case DType::kFloat64:
      return "float64";
    default:
      return std::string(to_string(dtype));
  }
}

std::string define(const std::string& name, DType dtype) {
  return fmt::format("#define {} {}\n", name, type_name(dtype));
}

std::string define(const std::string& name, std::int64_t value) {
  return fmt::format("#define {} {}\n", name, value);
}

CudaStream& stream_of(const KernelArgs& args) {
  MW_CHECK(args.stream != nullptr, "a kernel bound without a stream");
  return cuda_stream(*args.stream);
}

bool allows_tensor_float32(const KernelArgs& args) {
  return args.target != nullptr && args.target->tensor_float32;
}

}  // namespace meshwork::cuda

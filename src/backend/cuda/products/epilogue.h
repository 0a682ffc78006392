#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/cuda/kernel.h"

namespace meshwork::cuda::products {

/// What becomes of a product y [.., n] before it is written: y + bias, or relu of that. The bias
/// [n] is dense, of the dtype of y. Of a sum that is not a number cuBLASLt's relu may make 0.
struct Epilogue {
  const std::byte* bias = nullptr;  ///< none: y stays what it is
  std::int64_t columns = 1;         ///< n
  bool relu = false;
  std::int64_t stack = 0;  ///< elements from the bias of one matrix of a stack to the next
};

/// Of a node: that of its third operand.
Epilogue epilogue_of(const KernelArgs& args);

/// For sources that write elements of y, of dtype R: finish(sum, bias, columns, place), `place`
/// counting over a dense y. It needs define_epilogue.
inline constexpr char kEpilogue[] = R"cuda(
DEVICE float finish(float sum, const R* bias, int64 columns, int64 place) {
#if BIAS
  sum += to_float(bias[place % columns]);
#endif
#if RELU
  sum = sum < 0 ? 0 : sum;
#endif
  return sum;
}
)cuda";
std::string define_epilogue(const Epilogue& epilogue);

/// The same as a pass over a dense y of so many elements.
Launch epilogue_launch(CudaStream& stream, const Epilogue& epilogue, DType result, std::byte* y,
                       std::int64_t elements);

}  // namespace meshwork::cuda::products

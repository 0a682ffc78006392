#pragma once

#include <cstdint>

#include "backend/cuda/products/product.h"
#include "backend/cuda/windows/cudnn/by_cudnn.h"

namespace meshwork::cuda::windows {

/// A way to compute convolutions, or gradients of them, as products of cuBLASLt: one file, one line
/// in the list of by_products.cpp.
struct ByProducts {
  bool (*takes)(const Task& task);
  products::Product (*product)(const Task& task);  ///< its data may be null
  std::int64_t (*workspace)(const Task& task);     ///< bytes of scratch
  Launch (*launch)(CudaStream& stream, const Task& task, std::byte* workspace);
};

/// The first one that takes a task; nullptr if none does.
const ByProducts* by_products(const Task& task);

/// Of windows of one pixel, which all pixels have: one product, of all pixels by channels and
/// channels by filters.
extern const ByProducts kPointwise;

/// Of windows of 3 by 3, by transformed tiles (Winograd's F(2 x 2, 3 x 3); Lavin and Gray, "Fast
/// Algorithms for Convolutional Neural Networks", 2015): 16 multiplications for 4 results instead
/// of 36, a product for each. Of float32, whose results keep within twice the rounding errors of
/// sums; of so many channels that products take far longer than to transform what they read and
/// give.
extern const ByProducts kWinograd;

}  // namespace meshwork::cuda::windows

#pragma once

#include <cstdint>

#include "backend/cuda/windows/convolution.h"
#include "device/cuda/stream.h"

namespace meshwork::cuda::windows {

/// Elements of a transformed tile, each of which is a plane of its own: [tiles, channels], or of
/// kernels [in, filters].
inline constexpr std::int64_t kPlanes = 16;

/// How an image [n, height, width, channels] is cut into tiles of 2 by 2, and a margin.
struct ImageTiles {
  std::int32_t height, width, channels;
  std::int32_t margin_y, margin_x;  ///< by which the first tile begins before the image
  std::int32_t high, wide;          ///< tiles of an image
  std::int64_t count;               ///< of all images
  std::int64_t filled_up;           ///< planes have so many, those behind the last one 0
};

/// B^T x B of tiles of 4 by 4, each 2 behind the one before; what is outside of the image is 0.
Launch transform_source(CudaStream& stream, const ImageTiles& tiles, const std::byte* image,
                        std::byte* planes);
/// A^T m A: tiles of 2 by 2 of a result.
Launch transform_result(CudaStream& stream, const ImageTiles& tiles, const std::byte* planes,
                        std::byte* image);
/// G y G^T of tiles of 2 by 2, for the gradient of a kernel.
Launch transform_gradient(CudaStream& stream, const ImageTiles& tiles, const std::byte* image,
                          std::byte* planes);
/// G w G^T of a kernel [3, 3, elements], turned round where it is `backward`.
Launch transform_kernel(CudaStream& stream, std::int64_t elements, bool backward,
                        const std::byte* w, std::byte* planes);
/// A^T s A: the gradient of a kernel, of planes [16, parts, elements] whose parts are added up in
/// their order.
Launch transform_kernel_gradient(CudaStream& stream, std::int64_t elements, std::int32_t parts,
                                 const std::byte* planes, std::byte* w);

}  // namespace meshwork::cuda::windows

#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/stream.h"

namespace meshwork::cuda {

// NCCL's maximum of floats forgets a NaN where the other is a number. That of whole numbers does
// not: those that stand in the order of the floats, and above all of them for NaN.

/// to[i] = the whole number of from[i]; they may be the same.
Launch numbers_of_floats(CudaStream& stream, const void* from, std::byte* to, std::int64_t count);
/// And back, in place.
Launch floats_of_numbers(CudaStream& stream, void* place, std::int64_t count);

}  // namespace meshwork::cuda

#include "comm/cuda/nccl/order.h"

namespace meshwork::cuda {
namespace {

const Source kOrder{"order of floats", R"cuda(
DEVICE bool is_nan(int32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }

// Of negative numbers the one with the larger bits is the smaller.
DEVICE int32 turned(int32 bits) { return bits < 0 ? bits ^ 0x7fffffff : bits; }

KERNEL(numbers_of_floats, const int32* from, int32* to, int64 count) {
  FOR_EACH(i, count) to[i] = is_nan(from[i]) ? 0x7fffffff : turned(from[i]);
}
KERNEL(floats_of_numbers, int32* place, int64 count) { FOR_EACH(i, count) place[i] = turned(place[i]); }
)cuda",
                    ""};

}  // namespace

Launch numbers_of_floats(CudaStream& stream, const void* from, std::byte* to, std::int64_t count) {
  return kernel_launch(stream, kOrder, "numbers_of_floats", grid_of(count), from, to, count);
}

Launch floats_of_numbers(CudaStream& stream, void* place, std::int64_t count) {
  return kernel_launch(stream, kOrder, "floats_of_numbers", grid_of(count), place, count);
}

}  // namespace meshwork::cuda

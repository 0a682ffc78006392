#include "comm/cuda/staging.h"

#include <bit>

#include "base/check.h"

namespace meshwork::cuda {

StagingSlots Staging::slots_of(const CudaStream& stream, std::int64_t bytes) {
  MW_CHECK(bytes <= kMostBytes, "a slot of {} bytes", bytes);
  Known& known = known_[&stream];
  if (auto memory = known.memory.lock(); memory != nullptr && known.bytes >= bytes) {
    return {std::move(memory), known.bytes};
  }
  // Powers of two: all that a stream comes to hold is less than twice the largest.
  known.bytes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  StagingSlots slots{
      device_->allocate_staging(static_cast<std::int64_t>(StagingSlots::kCount) * known.bytes),
      known.bytes};
  known.memory = slots.memory;
  return slots;
}

}  // namespace meshwork::cuda

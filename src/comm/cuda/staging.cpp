#include "comm/cuda/staging.h"

namespace meshwork::cuda {

std::shared_ptr<std::byte> Staging::slots_of(const CudaStream& stream) {
  std::erase_if(slots_, [](const auto& slots) { return slots.second.expired(); });
  if (const auto found = slots_.find(&stream); found != slots_.end()) return found->second.lock();
  std::shared_ptr<std::byte> slots =
      device_->allocate_staging(static_cast<std::int64_t>(kSlots) * kSlotBytes);
  slots_[&stream] = slots;
  return slots;
}

}  // namespace meshwork::cuda

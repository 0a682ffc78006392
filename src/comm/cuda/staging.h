#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "device/cuda/stream.h"
#include "device/device.h"

namespace meshwork::cuda {

/// Memory of the host through which data of a device pass to other hosts: a few slots for each
/// stream, whatever the number and the size of its calls. A slot is written anew behind what the
/// stream has still to do with it, so calls of one stream need not have slots of their own.
class Staging {
 public:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::int64_t kSlotBytes = std::int64_t{4} << 20U;

  explicit Staging(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// kSlots of kSlotBytes, the same for all who ask for this stream's while one of them holds them.
  std::shared_ptr<std::byte> slots_of(const CudaStream& stream);
  Device& device() const { return *device_; }

 private:
  std::shared_ptr<Device> device_;
  std::map<const CudaStream*, std::weak_ptr<std::byte>> slots_;
};

}  // namespace meshwork::cuda

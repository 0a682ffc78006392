#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "device/cuda/stream.h"
#include "device/device.h"

namespace meshwork::cuda {

/// Slots of one size, one after the other.
struct StagingSlots {
  static constexpr std::size_t kCount = 4;

  std::shared_ptr<std::byte> memory;
  std::int64_t bytes = 0;  ///< of a slot

  std::byte* slot(std::size_t i) const {
    return memory.get() + static_cast<std::int64_t>(i) * bytes;
  }
};

/// Memory of the host through which data of a device pass to other hosts: a few slots for each
/// stream, whatever the number and the size of its calls. A slot is written anew behind what the
/// stream has still to do with it, so calls of one stream need not have slots of their own.
class Staging {
 public:
  static constexpr std::int64_t kMostBytes = std::int64_t{4} << 20U;  ///< of a slot

  explicit Staging(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Slots of at least so many bytes, at most kMostBytes: those that others hold who have asked for
  /// this stream's, if these are large enough.
  StagingSlots slots_of(const CudaStream& stream, std::int64_t bytes);
  Device& device() const { return *device_; }

 private:
  struct Known {
    std::weak_ptr<std::byte> memory;
    std::int64_t bytes = 0;
  };

  std::shared_ptr<Device> device_;
  std::map<const CudaStream*, Known> known_;
};

}  // namespace meshwork::cuda

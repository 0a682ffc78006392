#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

#include "exec/executable.h"

namespace meshwork {

/// Brings batches to a device: written where they are wanted, if the host reaches that, else copied
/// from one of two buffers of staging memory, of which the host writes one while the other is under
/// way.
class FieldUploader {
 public:
  FieldUploader(Device& device, Stream& stream);

  /// `write` fills host memory with all of `to`; nothing is done where this is not there.
  void upload(const TensorView& to, const std::function<void(std::byte* host)>& write);

 private:
  struct Buffer {
    std::shared_ptr<std::byte> memory;
    std::int64_t bytes = 0;
    std::unique_ptr<Event> copied;
  };

  Device& device_;
  Stream& stream_;
  std::array<Buffer, 2> buffers_;
  std::size_t next_ = 0;
};

}  // namespace meshwork

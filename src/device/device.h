#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "device/stream.h"
#include "target.h"

namespace meshwork {

/// Gives zeroed, line-aligned host memory of this many bytes, or nullptr.
using HostMemory = std::function<std::shared_ptr<std::byte>(std::int64_t bytes)>;

/// What a device is, apart from what it computes. Its memory is for its streams only: the host
/// neither reads nor writes it, but has it copied.
class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  virtual const Target& target() const = 0;

  /// Zeroed device memory, aligned as the target says; throws Error when there is not enough. Where
  /// the device computes in host memory, what `host` has is taken first.
  virtual std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& host = {}) = 0;

  /// Zeroed, line-aligned host memory that streams copy from and to without another copy.
  virtual std::shared_ptr<std::byte> allocate_staging(std::int64_t bytes) = 0;

  /// Whether kernels may read any memory of the host that nobody writes, at any alignment.
  virtual bool reads_host_memory() const { return false; }

  virtual std::unique_ptr<Stream> make_stream() = 0;
  virtual std::unique_ptr<Event> make_event() = 0;
};

/// Copies between device memory and any memory of the host, through staging memory; all that was
/// enqueued on `stream` is done first, and the copy is done on return.
void upload(Device& device, Stream& stream, std::byte* to, const void* from, std::int64_t bytes);
void download(Device& device, Stream& stream, void* to, const std::byte* from, std::int64_t bytes);

}  // namespace meshwork

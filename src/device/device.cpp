#include "device/device.h"

#include <algorithm>
#include <cstring>

namespace meshwork {
namespace {

/// Large tensors go through staging memory of this size, part by part.
constexpr std::int64_t kStagingBytes = std::int64_t{4} << 20U;

/// part(staging, begin, count) for parts of `bytes` that fit staging memory.
template <class Part>
void through_staging(Device& device, std::int64_t bytes, const Part& part) {
  if (bytes == 0) return;
  const auto staging = device.allocate_staging(std::min(bytes, kStagingBytes));
  const auto event = device.make_event();
  for (std::int64_t begin = 0; begin < bytes; begin += kStagingBytes) {
    part(staging.get(), *event, begin, std::min(kStagingBytes, bytes - begin));
  }
}

}  // namespace

void upload(Device& device, Stream& stream, std::byte* to, const void* from, std::int64_t bytes) {
  const auto* source = static_cast<const std::byte*>(from);
  through_staging(device, bytes, [&](std::byte* staging, Event& event, auto begin, auto count) {
    std::memcpy(staging, source + begin, static_cast<std::size_t>(count));
    stream.copy_to_device(to + begin, staging, count);
    stream.record(event);
    event.wait();
  });
}

void download(Device& device, Stream& stream, void* to, const std::byte* from, std::int64_t bytes) {
  auto* target = static_cast<std::byte*>(to);
  through_staging(device, bytes, [&](std::byte* staging, Event& event, auto begin, auto count) {
    stream.copy_to_host(staging, from + begin, count);
    stream.record(event);
    event.wait();
    std::memcpy(target + begin, staging, static_cast<std::size_t>(count));
  });
}

}  // namespace meshwork

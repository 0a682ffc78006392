#include "device/cpu_device.h"

#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "base/huge_pages.h"
#include "machine/memory.h"

namespace meshwork {
namespace {

[[noreturn]] void fail_short_of_memory(std::int64_t bytes, std::int64_t available) {
  fail(ExitCode::kTraining,
       "device memory: {} bytes are needed and about {} are available on this machine; use a "
       "smaller batch, or shard over more devices",
       bytes, available);
}

/// All that stands before a mark is done when it is recorded.
class ImmediateEvent final : public Event {
 public:
  void wait() override {}
};

class ImmediateStream final : public Stream {
 public:
  bool is_immediate() const override { return true; }
  void copy_to_device(std::byte* device, const std::byte* host, std::int64_t bytes) override {
    copy(device, host, bytes);
  }
  void copy_to_host(std::byte* host, const std::byte* device, std::int64_t bytes) override {
    copy(host, device, bytes);
  }
  void copy(std::byte* to, const std::byte* from, std::int64_t bytes) override {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void record(Event& /*event*/) override {}
  void wait_for(const Event& /*event*/) override {}
  void drain() noexcept override {}
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(Target target) : target_(std::move(target)) {}

  const Target& target() const override { return target_; }

  std::shared_ptr<std::byte> allocate(std::int64_t bytes, const HostMemory& host) override {
    MW_CHECK(bytes >= 0, "{} bytes", bytes);
    // The system promises more than it has, and kills who takes it at its word. To ask takes longer
    // than to allocate a little.
    const bool is_much = bytes >= static_cast<std::int64_t>(kHugePage);
    if (is_much && bytes > free_memory()) fail_short_of_memory(bytes, free_memory());
    std::shared_ptr<std::byte> memory = host ? host(bytes) : nullptr;
    if (memory == nullptr) memory = zeroed_pages(static_cast<std::size_t>(bytes));
    if (memory == nullptr) fail_short_of_memory(bytes, free_memory());
    return memory;
  }

  std::shared_ptr<std::byte> allocate_staging(std::int64_t bytes) override {
    return allocate(bytes, {});
  }

  bool reads_host_memory() const override { return true; }

  std::unique_ptr<Stream> make_stream() override { return std::make_unique<ImmediateStream>(); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<ImmediateEvent>(); }

 private:
  Target target_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(Target target) {
  MW_CHECK(target.threads >= 1, "{} threads", target.threads);
  return std::make_unique<CpuDevice>(std::move(target));
}

}  // namespace meshwork

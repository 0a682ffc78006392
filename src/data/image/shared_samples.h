#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace meshwork::data {

/// Decoded samples that several readers of a process want at about the same time: one of them
/// decodes each. They are kept until all have read them, but never more than a bound: who comes too
/// late decodes for himself.
class SharedSamples {
 public:
  explicit SharedSamples(std::size_t sample_bytes);

  /// Decodes a sample to memory that is kept, unless another thread has begun it or there is no
  /// room. Throws what `decode` throws.
  void prepare(std::int64_t sample, int readers, const std::function<void(std::byte* to)>& decode);

  /// Shows `read` the sample, where it is kept or about to be; else false.
  bool read(std::int64_t sample, const std::function<void(const std::byte*)>& read);

 private:
  struct Slot {
    std::int64_t sample = 0;
    std::unique_ptr<std::byte[]> bytes;
    bool is_ready = false, has_failed = false;
    int reads_left = 0;
    int users = 0;  ///< that are about to read it
  };

  std::unique_ptr<Slot> empty_slot();
  Slot* find(std::int64_t sample) const;
  void drop(const Slot* slot);

  std::size_t sample_bytes_, most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Slot>> used_, idle_;  ///< the oldest first
};

}  // namespace meshwork::data

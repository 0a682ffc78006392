#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/executable.h"

namespace meshwork {

/// Scalars that go to the device before a step and come back behind it, a block of staging memory
/// for each step under way: the host waits for a step when it wants its numbers, or when all blocks
/// are in use.
class StepRing {
 public:
  /// What a step has left: its number, and its results in the order in which they were asked for.
  using Finished = std::function<void(std::int64_t batch, std::span<const float> results)>;

  /// `finished` is told of every step, in order.
  StepRing(Device& device, Stream& stream, Finished finished);

  /// Begins a step over a batch of that many samples.
  void begin(std::int64_t batch);
  /// Has a scalar copied to the device; one that is not there is left alone.
  void upload(const TensorView& to, const void* value);
  /// The step has been enqueued: has its results copied back.
  void end(const std::vector<TensorView>& results);

  /// Waits for all steps.
  void drain();

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::unique_ptr<Event> copied;
    std::int64_t batch = 0;
    std::int64_t given = 0;  ///< bytes
    std::size_t results = 0;
  };

  Block& block(std::int64_t step) {
    return blocks_[static_cast<std::size_t>(step) % blocks_.size()];
  }
  void finish_first();

  Stream& stream_;
  Finished finished_;
  std::vector<Block> blocks_;
  std::int64_t begun_ = 0;
  std::int64_t done_ = 0;  ///< steps that `finished` knows of
};

}  // namespace meshwork

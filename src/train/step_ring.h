#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "exec/executable.h"
#include "train/packed_copy.h"

namespace meshwork {

/// Small tensors that go to the device before a step, and scalars that come back behind it, with a
/// block of staging memory for each step under way: the host waits for a step when it wants its
/// numbers, or when all blocks are in use.
class StepRing {
 public:
  /// What a step has left: its results in the order in which they were asked for; `batch`: how many
  /// samples it was over.
  using Finished = std::function<void(std::int64_t batch, std::span<const float> results)>;

  /// `finished` is told of every step, in order. `given` and `left` are the most bytes that go to
  /// the device and come back.
  StepRing(Device& device, Stream& stream, std::int64_t given, std::int64_t left,
           Finished finished);

  /// Begins a step over a batch of that many samples. Returns where what is given is to be put.
  std::byte* begin(std::int64_t batch);
  /// It is there: has it copied to the device.
  void give(const PackedCopy& given);
  /// The step has been enqueued: has its results copied back, which are float32.
  void end(const PackedCopy& results);

  /// Waits for all steps.
  void drain();

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;  ///< what is given, and behind it what is left
    std::unique_ptr<Event> copied;
    std::int64_t batch = 0;
    std::vector<std::int64_t> results;  ///< where they stand
  };

  Block& block(std::int64_t step) {
    return blocks_[static_cast<std::size_t>(step) % blocks_.size()];
  }
  void finish_first();

  Stream& stream_;
  std::int64_t given_, left_;
  Finished finished_;
  std::vector<Block> blocks_;
  std::int64_t begun_ = 0;
  std::int64_t done_ = 0;  ///< steps that `finished` knows of
};

}  // namespace meshwork

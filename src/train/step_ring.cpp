#include "train/step_ring.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace meshwork {
namespace {

constexpr std::size_t kBlocks = 8;
/// Of a block: scalars to the device, each on 8 bytes, and behind them the results.
constexpr std::int64_t kGivenBytes = 64;
constexpr std::size_t kMostResults = 1000;
constexpr std::int64_t kBlockBytes =
    kGivenBytes + static_cast<std::int64_t>(kMostResults * sizeof(float));

}  // namespace

StepRing::StepRing(Device& device, Stream& stream, Finished finished)
    : stream_(stream), finished_(std::move(finished)), blocks_(kBlocks) {
  for (Block& block : blocks_) {
    block.memory = device.allocate_staging(kBlockBytes);
    block.copied = device.make_event();
  }
}

void StepRing::begin(std::int64_t batch) {
  if (begun_ - done_ == std::ssize(blocks_)) finish_first();
  Block& mine = block(begun_++);
  mine.batch = batch;
  mine.given = 0;
}

void StepRing::upload(const TensorView& to, const void* value) {
  if (to.data == nullptr) return;
  const std::int64_t bytes = num_bytes(to.type);
  Block& mine = block(begun_ - 1);
  MW_CHECK(bytes <= 8 && mine.given < kGivenBytes);
  std::byte* staged = mine.memory.get() + mine.given;
  std::memcpy(staged, value, static_cast<std::size_t>(bytes));
  stream_.copy_to_device(to.data, staged, bytes);
  mine.given += 8;
}

void StepRing::end(const std::vector<TensorView>& results) {
  Block& mine = block(begun_ - 1);
  MW_CHECK(results.size() <= kMostResults, "{} results of a step", results.size());
  std::byte* to = mine.memory.get() + kGivenBytes;
  for (const TensorView& result : results) {
    stream_.copy_to_host(to, result.data, sizeof(float));
    to += sizeof(float);
  }
  mine.results = results.size();
  stream_.record(*mine.copied);
}

void StepRing::finish_first() {
  const Block& first = block(done_++);
  first.copied->wait();
  const auto* results = reinterpret_cast<const float*>(first.memory.get() + kGivenBytes);
  finished_(first.batch, {results, first.results});
}

void StepRing::drain() {
  while (done_ < begun_) finish_first();
}

}  // namespace meshwork

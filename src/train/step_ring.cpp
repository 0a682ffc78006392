#include "train/step_ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/local_work.h"

namespace meshwork {
namespace {

constexpr std::size_t kBlocks = 8;

}  // namespace

StepRing::StepRing(Device& device, Stream& stream, std::int64_t given, std::int64_t left,
                   Finished finished)
    : stream_(stream),
      given_(given),
      left_(left),
      finished_(std::move(finished)),
      blocks_(kBlocks) {
  for (Block& block : blocks_) {
    block.memory = device.allocate_staging(std::max<std::int64_t>(given + left, 1));
    block.copied = device.make_event();
  }
}

std::byte* StepRing::begin(std::int64_t batch) {
  if (begun_ - done_ == std::ssize(blocks_)) finish_first();
  Block& mine = block(begun_++);
  mine.batch = batch;
  return mine.memory.get();
}

void StepRing::give(const PackedCopy& given) {
  MW_CHECK(given.bytes <= given_, "{} bytes for a step", given.bytes);
  const std::byte* const staged = block(begun_ - 1).memory.get();
  for (const PackedCopy::Range& range : given.ranges) {
    stream_.copy_to_device(range.device, staged + range.staged, range.bytes);
  }
}

void StepRing::end(const PackedCopy& results) {
  MW_CHECK(results.bytes <= left_, "{} bytes of a step", results.bytes);
  Block& mine = block(begun_ - 1);
  std::byte* const staged = mine.memory.get() + given_;
  for (const PackedCopy::Range& range : results.ranges) {
    stream_.copy_to_host(staged + range.staged, range.device, range.bytes);
  }
  mine.results = results.places;
  stream_.record(*mine.copied);
}

void StepRing::finish_first() {
  const Block& first = block(done_++);
  first.copied->wait();
  const LocalWork work;  // a step is over: whoever watches sees it
  std::vector<float> results(first.results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::memcpy(&results[i], first.memory.get() + given_ + first.results[i], sizeof(float));
  }
  finished_(first.batch, results);
}

void StepRing::drain() {
  while (done_ < begun_) finish_first();
}

}  // namespace meshwork

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/augment/augmenter.h"
#include "data/dataset.h"
#include "data/runs.h"

namespace meshwork::data {

/// Samples of a batch, by their places in the order of a pass.
struct Rows {
  std::span<const std::int64_t> samples;  ///< of the sources
  std::int64_t pass = 0;                  ///< over the data
  std::int64_t first = 0;                 ///< place of samples[0] in the pass
  std::span<const std::int64_t> next{};   ///< read after them, perhaps: fetched ahead
};

/// Reads parts of samples of one field for one device, augmented if need be. An image is augmented
/// whole, whatever part of it is wanted.
class SampleReader {
 public:
  /// `seed` is the run's; `augment` is for training batches.
  SampleReader(const Field& field, std::uint64_t seed, bool augment);

  /// Whether it takes no longer than to convert numbers in memory, once the source is prepared.
  bool reads_memory() const { return !augmenter_ && field_.source->reads_memory(); }

  /// Writes the runs of every row to `out`, one after the other. Allocates nothing from the second
  /// call on.
  void read(const Rows& rows, const Runs& runs, std::byte* out);

 private:
  void read_whole(const Rows& rows, const Runs& runs, std::byte* out);

  Field field_;
  std::int64_t elements_;  ///< of a sample
  Runs whole_;             ///< all of a sample
  std::optional<Augmenter> augmenter_;
  std::vector<float> sample_;  ///< or int32: both have 4 bytes
};

}  // namespace meshwork::data

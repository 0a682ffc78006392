#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/runs.h"
#include "data/augment/augmenter.h"
#include "data/dataset.h"

namespace meshwork::data {

/// Samples of a batch, by their places in the order of a pass.
struct Rows {
  std::span<const std::int64_t> samples;  ///< of the sources
  std::int64_t pass = 0;                  ///< over the data
  std::int64_t first = 0;                 ///< place of samples[0] in the pass
  int readers = 1;                        ///< of the process, this one included, that read them
  std::int64_t batch_first = 0;           ///< place of the first sample of the whole batch
  /// Where samples are mixed, that which each is mixed with, in the same order: the batch's last
  /// one with its first, the second last with the second. So the place of the partner of samples[i]
  /// is partner_first - i.
  std::span<const std::int64_t> partners = {};
  std::int64_t partner_first = 0;
};

/// Reads parts of samples of one field for one device, as the program gets them. What is augmented,
/// mixed or decoded, is read whole, whatever part of it is wanted.
class SampleReader {
 public:
  /// `seed` is the run's; `augment` is for training batches; so many `threads` share what is work.
  SampleReader(const Field& field, std::uint64_t seed, bool augment, int threads = 1);

  Arrival arrival() const { return arrival_; }

  /// Writes the runs of every row to `out`, one after the other; of kRows the numbers of the rows.
  /// Allocates nothing from the second call on, but for samples that other readers want, too. Of
  /// several rows that cannot be read the Error is that of the first.
  void read(const Rows& rows, std::span<const Run> runs, std::byte* out);

 private:
  /// What a thread needs for a sample, or for its partner.
  struct Reading {
    std::optional<Augmenter> augmenter;
    std::vector<std::byte> stored;  ///< the sample
    std::vector<float> sample;      ///< to be augmented
  };
  struct Worker {
    Reading own;
    Reading partner;
    std::vector<float> made;           ///< of two samples, or of labels
    std::vector<std::int32_t> labels;  ///< of the pixels of a mask
  };
  /// One of the samples of a batch.
  struct Row {
    std::int64_t sample = 0;
    std::int64_t pass = 0;
    std::int64_t place = 0;
  };

  std::span<const std::size_t> places_of(const Rows& rows);
  void read_sample(Worker& worker, const Rows& rows, std::size_t i, std::span<const Run> runs,
                   std::byte* out) const;
  const std::byte* read_whole(Worker& worker, const Rows& rows, std::size_t i) const;
  const std::byte* read_stored(Reading& reading, std::int64_t sample) const;
  const float* read_augmented(Reading& reading, const Row& row) const;
  const std::byte* read_mask(Worker& worker, const Row& row) const;
  const float* read_mixed(Worker& worker, const Row& row, const Row& partner,
                          std::int64_t batch_first) const;

  Field field_;
  Arrival arrival_;
  std::int64_t stored_;              ///< elements of a sample in its source
  std::int64_t elements_;            ///< of a sample, as the program gets it
  std::int64_t item_;                ///< bytes of one of these
  std::vector<Worker> workers_;      ///< one per thread
  std::vector<std::size_t> places_;  ///< of a batch
  bool backward_ = false;            ///< the next batch is read from its last file to the first
};

}  // namespace meshwork::data

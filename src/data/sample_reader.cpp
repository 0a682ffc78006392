#include "data/sample_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/team.h"
#include "data/check_values.h"
#include "data/field_plan.h"

namespace meshwork::data {
namespace {

/// Samples that a thread has in hand at a time where devices share them.
constexpr std::size_t kAhead = 4;

}  // namespace

SampleReader::SampleReader(const Field& field, std::uint64_t seed, bool augment, int threads)
    : field_(field),
      arrival_(arrival_of(field, augment)),
      stored_(num_elements(field.stored_shape())),
      elements_(arrival_ == Arrival::kAugmented ? num_elements(field.shape) : stored_),
      item_(static_cast<std::int64_t>(size_of(batch_dtype(field, augment)))) {
  MW_CHECK(threads > 0);
  const bool augments = arrival_ == Arrival::kAugmented;
  MW_CHECK(!augments || field.dtype == DType::kFloat32 || field.is_mask(), "field '{}'",
           field.name);
  // A team beside that of the kernels slows these down where there is little to do for it.
  workers_.resize(field.source->has_work() ? static_cast<std::size_t>(threads) : 1);
  if (!augments || field.augment.empty()) return;
  for (Worker& worker : workers_) {
    for (Reading* reading : {&worker.own, &worker.partner}) {
      reading->augmenter.emplace(field.augment, field.is_mask() ? field.mask_of : field.name,
                                 field.stored_shape(), seed);
    }
  }
}

void SampleReader::read(const Rows& rows, std::span<const Run> runs, std::byte* out) {
  if (runs.empty()) return;
  if (arrival_ == Arrival::kRows) {
    for (const std::int64_t row : rows.samples) {
      const auto number = static_cast<std::int32_t>(row);
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    }
    return;
  }
  std::int64_t stride = 0;
  for (const Run& run : runs) stride += run.count * item_;
  const std::span<const std::size_t> places = places_of(rows);
  const bool mixes = arrival_ == Arrival::kAugmented && field_.mixer != nullptr;
  const bool is_shared = rows.readers > 1 && field_.source->has_work() && !mixes;
  const std::size_t part = is_shared ? kAhead * workers_.size() : places.size();
  for (std::size_t begin = 0; begin < places.size(); begin += part) {
    const std::size_t end = std::min(begin + part, places.size());
    if (is_shared) {
      for_each_by(workers_.size(), begin, end, [&](std::size_t, std::size_t k) {
        field_.source->prepare(rows.samples[places[k]], rows.readers);
      });
    }
    for_each_by(workers_.size(), begin, end, [&](std::size_t thread, std::size_t k) {
      const std::size_t i = places[k];
      read_sample(workers_[thread], rows, i, runs, out + static_cast<std::int64_t>(i) * stride);
    });
  }
}

/// The places of a batch in the order in which they are read. Where samples cost the unpacking of
/// their files, they are read file by file, to and fro: what was unpacked last is needed first.
std::span<const std::size_t> SampleReader::places_of(const Rows& rows) {
  places_.resize(rows.samples.size());
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  if (!field_.source->unpacks_files()) return places_;
  const bool backward = std::exchange(backward_, !backward_);
  std::sort(places_.begin(), places_.end(), [&](std::size_t a, std::size_t b) {
    return backward ? rows.samples[a] > rows.samples[b] : rows.samples[a] < rows.samples[b];
  });
  return places_;
}

/// The runs of sample i of the rows.
void SampleReader::read_sample(Worker& worker, const Rows& rows, std::size_t i,
                               std::span<const Run> runs, std::byte* out) const {
  const bool is_whole = runs.size() == 1 && runs[0].count == elements_;
  const bool takes_whole =
      arrival_ == Arrival::kAugmented || (!is_whole && field_.source->decodes_samples());
  const std::byte* sample = takes_whole ? read_whole(worker, rows, i) : nullptr;
  for (const Run& run : runs) {
    if (takes_whole) {
      std::memcpy(out, sample + run.global * item_, static_cast<std::size_t>(run.count * item_));
    } else {
      field_.source->read(rows.samples[i] * elements_ + run.global, run.count, out);
      check_values(field_, rows.samples[i], run.count, out);
    }
    out += run.count * item_;
  }
}

/// Sample i of the rows.
const std::byte* SampleReader::read_whole(Worker& worker, const Rows& rows, std::size_t i) const {
  if (arrival_ != Arrival::kAugmented) return read_stored(worker.own, rows.samples[i]);
  const Row row{rows.samples[i], rows.pass, rows.first + static_cast<std::int64_t>(i)};
  if (field_.is_mask()) return read_mask(worker, row);
  if (field_.mixer == nullptr) {
    return reinterpret_cast<const std::byte*>(read_augmented(worker.own, row));
  }
  const Row partner{rows.partners[i], rows.pass, rows.partner_first - static_cast<std::int64_t>(i)};
  return reinterpret_cast<const std::byte*>(read_mixed(worker, row, partner, rows.batch_first));
}

const std::byte* SampleReader::read_stored(Reading& reading, std::int64_t sample) const {
  reading.stored.resize(static_cast<std::size_t>(stored_) * size_of(field_.source->info().dtype));
  field_.source->read(sample * stored_, stored_, reading.stored.data());
  check_values(field_, sample, stored_, reading.stored.data());
  return reading.stored.data();
}

const float* SampleReader::read_augmented(Reading& reading, const Row& row) const {
  const DType dtype = field_.source->info().dtype;
  const std::byte* stored = read_stored(reading, row.sample);
  reading.sample.resize(static_cast<std::size_t>(stored_));
  Conversion conversion = field_.conversion;
  conversion.dtype = DType::kFloat32;
  convert_and_normalize(stored, dtype, conversion, field_.normalization, 0, reading.sample);
  if (!reading.augmenter) return reading.sample.data();
  return (*reading.augmenter)(reading.sample.data(), row.pass, row.place);
}

/// The moved numbers of a mask, as whole ones or as vectors where they are to be such.
const std::byte* SampleReader::read_mask(Worker& worker, const Row& row) const {
  const std::span<const float> moved(read_augmented(worker.own, row),
                                     static_cast<std::size_t>(stored_));
  if (field_.conversion.dtype == DType::kFloat32) {
    return reinterpret_cast<const std::byte*>(moved.data());
  }
  worker.labels.resize(moved.size());
  std::ranges::transform(moved, worker.labels.begin(),
                         [](float label) { return static_cast<std::int32_t>(std::lrint(label)); });
  if (field_.classes == 0) return reinterpret_cast<const std::byte*>(worker.labels.data());
  worker.made.assign(static_cast<std::size_t>(elements_), 0.0F);
  for (std::size_t i = 0; i < worker.labels.size(); ++i) {
    worker.made[i * static_cast<std::size_t>(field_.classes) +
                static_cast<std::size_t>(worker.labels[i])] = 1;
  }
  return reinterpret_cast<const std::byte*>(worker.made.data());
}

/// A sample mixed with its partner; of labels the vector of both.
const float* SampleReader::read_mixed(Worker& worker, const Row& row, const Row& partner,
                                      std::int64_t batch_first) const {
  worker.made.resize(static_cast<std::size_t>(elements_));
  const Mixture mixture = field_.mixer->draw({row.pass, row.place, batch_first});
  if (field_.classes == 0) {
    mixture.mix(field_.mixer->shape(), read_augmented(worker.own, row),
                read_augmented(worker.partner, partner), worker.made.data());
    return worker.made.data();
  }
  std::ranges::fill(worker.made, 0.0F);
  const auto add = [&](Reading& reading, std::int64_t sample, float share) {
    std::int32_t label = 0;
    const std::byte* stored = read_stored(reading, sample);
    for (std::int64_t i = 0; i < stored_; ++i) {
      const auto size = static_cast<std::int64_t>(size_of(field_.source->info().dtype));
      convert_elements(stored + i * size, field_.source->info().dtype, 1, field_.conversion,
                       &label);
      worker.made[static_cast<std::size_t>(i * field_.classes + label)] += share;
    }
  };
  add(worker.own, row.sample, mixture.share);
  add(worker.partner, partner.sample, 1 - mixture.share);
  return worker.made.data();
}

}  // namespace meshwork::data

#include "data/sample_reader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "data/check_values.h"
#include "data/field_plan.h"

namespace meshwork::data {

SampleReader::SampleReader(const Field& field, std::uint64_t seed, bool augment)
    : field_(field),
      arrival_(arrival_of(field, augment)),
      elements_(num_elements(field.stored_shape())),
      item_(static_cast<std::int64_t>(size_of(batch_dtype(field, augment)))) {
  if (arrival_ != Arrival::kAugmented) return;
  MW_CHECK(field.dtype == DType::kFloat32, "field '{}'", field.name);
  augmenter_.emplace(field.augment, field.name, field.shape, seed);
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
  for (const std::size_t i : places_of(rows)) {
    read_sample(rows, i, runs, out + static_cast<std::int64_t>(i) * stride);
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
void SampleReader::read_sample(const Rows& rows, std::size_t i, std::span<const Run> runs,
                               std::byte* out) {
  const bool is_whole = runs.size() == 1 && runs[0].count == elements_;
  const bool takes_whole = augmenter_ || (!is_whole && field_.source->decodes_samples());
  const std::byte* sample = takes_whole ? read_whole(rows, i) : nullptr;
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
const std::byte* SampleReader::read_whole(const Rows& rows, std::size_t i) {
  const DType dtype = field_.source->info().dtype;
  const std::int64_t row = rows.samples[i];
  stored_.resize(static_cast<std::size_t>(elements_) * size_of(dtype));
  field_.source->read(row * elements_, elements_, stored_.data());
  check_values(field_, row, elements_, stored_.data());
  if (!augmenter_) return stored_.data();
  sample_.resize(static_cast<std::size_t>(elements_));
  convert_and_normalize(stored_.data(), dtype, field_.conversion, field_.normalization, 0, sample_);
  const float* augmented =
      (*augmenter_)(sample_.data(), rows.pass, rows.first + static_cast<std::int64_t>(i));
  return reinterpret_cast<const std::byte*>(augmented);
}

}  // namespace meshwork::data

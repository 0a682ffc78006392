#include "data/sample_reader.h"

#include <cstring>

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

void SampleReader::read(const Rows& rows, const Runs& runs, std::byte* out) {
  if (runs.starts.empty()) return;
  const bool is_whole = runs.starts.size() == 1 && runs.length == elements_;
  const std::int64_t run = runs.length * item_;
  for (std::size_t i = 0; i < rows.samples.size(); ++i) {
    if (arrival_ == Arrival::kRows) {
      const auto number = static_cast<std::int32_t>(rows.samples[i]);
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    } else if (augmenter_ || (!is_whole && field_.source->decodes_samples())) {
      const std::byte* sample = read_whole(rows, i);
      for (const std::int64_t start : runs.starts) {
        std::memcpy(out, sample + start * item_, static_cast<std::size_t>(run));
        out += run;
      }
    } else {
      read_runs(rows.samples[i], runs, out);
      out += run * static_cast<std::int64_t>(runs.starts.size());
    }
  }
}

void SampleReader::read_runs(std::int64_t row, const Runs& runs, std::byte* out) const {
  for (const std::int64_t start : runs.starts) {
    field_.source->read(row * elements_ + start, runs.length, out);
    check_values(field_, row, runs.length, out);
    out += runs.length * item_;
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
  convert_elements(stored_.data(), dtype, elements_, field_.conversion, sample_.data());
  if (!field_.normalization.empty()) normalize(field_.normalization, 0, sample_);
  const float* augmented =
      (*augmenter_)(sample_.data(), rows.pass, rows.first + static_cast<std::int64_t>(i));
  return reinterpret_cast<const std::byte*>(augmented);
}

}  // namespace meshwork::data

#include "data/sample_reader.h"

#include <cstring>

#include "base/check.h"

namespace meshwork::data {

SampleReader::SampleReader(const Field& field, std::uint64_t seed, bool augment)
    : field_(field), elements_(num_elements(field.shape)), whole_{elements_, {0}} {
  if (augment && !field.augment.empty()) {
    MW_CHECK(field.dtype == DType::kFloat32, "field '{}'", field.name);
    augmenter_.emplace(field.augment, field.name, field.shape, seed);
  }
}

void SampleReader::read(const Rows& rows, const Runs& runs, std::byte* out) {
  const bool is_whole = runs.starts.size() == 1 && runs.length == elements_;
  const bool is_empty = runs.starts.empty() || rows.samples.empty();
  if (!is_empty && (augmenter_ || (!is_whole && field_.source->decodes_samples()))) {
    read_whole(rows, runs, out);
  } else {
    read_rows(field_, rows.samples, runs, out, rows.next);
  }
}

void SampleReader::read_whole(const Rows& rows, const Runs& runs, std::byte* out) {
  sample_.resize(static_cast<std::size_t>(elements_));
  const auto size = size_of(field_.dtype);
  for (std::size_t i = 0; i < rows.samples.size(); ++i) {
    read_rows(field_, rows.samples.subspan(i, 1), whole_,
              reinterpret_cast<std::byte*>(sample_.data()));
    const float* sample = sample_.data();
    if (augmenter_) {
      sample = (*augmenter_)(sample_.data(), rows.pass, rows.first + static_cast<std::int64_t>(i));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(sample);
    for (const std::int64_t start : runs.starts) {
      const std::size_t count = static_cast<std::size_t>(runs.length) * size;
      std::memcpy(out, bytes + static_cast<std::size_t>(start) * size, count);
      out += count;
    }
  }
}

}  // namespace meshwork::data

#include "data/cut_timeseries.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/rounded_up.h"
#include "data/formats/source.h"

namespace meshwork::data {
namespace {

/// The rows that a field has of a sample, from the sample's first row on.
struct Steps {
  std::int64_t first = 0;
  std::int64_t count = 1;
  std::int64_t rate = 1;
  bool has_dimension = true;  ///< whether they are a dimension of the field

  std::int64_t end() const { return first + (count - 1) * rate + 1; }
};

Steps steps_of(const std::string& field, const TimeSeries& series) {
  if (std::ranges::count(series.targets, field) == 0) {
    return {.count = series.sequence_length, .rate = series.sampling_rate};
  }
  return {.first = series.delay,
          .count = series.target_length.value_or(1),
          .rate = series.sampling_rate,
          .has_dimension = series.target_length.has_value()};
}

/// The samples of a stretch of rows of one file.
struct Stretch {
  std::int64_t sample = 0;  ///< its first one
  std::int64_t row = 0;     ///< the first row of that
};

/// Where the samples of a split begin.
struct Windows {
  std::vector<Stretch> stretches;  ///< those that have samples
  std::int64_t stride = 1;
  std::int64_t count = 0;  ///< of samples

  std::int64_t row_of(std::int64_t sample) const {
    const auto after = std::ranges::upper_bound(stretches, sample, {}, &Stretch::sample);
    const Stretch& stretch = *(after - 1);
    return stretch.row + (sample - stretch.sample) * stride;
  }
};

/// The first rows of the files of all fields, of which each may have files of its own.
std::vector<std::int64_t> begins_of_files(const Split& rows) {
  std::vector<std::int64_t> begins{0};
  for (const Field& field : rows.fields) {
    for (const SamplePlace& file : field.source->files()) begins.push_back(file.sample);
  }
  std::ranges::sort(begins);
  return begins;
}

/// `length`: rows from the first of a sample to the last that it needs.
Windows windows_of(const Split& rows, std::int64_t length, std::int64_t stride) {
  Windows windows;
  windows.stride = stride;
  const std::vector<std::int64_t> begins = begins_of_files(rows);
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::int64_t last = rows.first + rows.samples;
    const std::int64_t begin = std::max(begins[i], rows.first);
    const std::int64_t end = i + 1 < begins.size() ? std::min(begins[i + 1], last) : last;
    if (end - begin < length) continue;
    windows.stretches.push_back({windows.count, begin});
    windows.count += (end - begin - length) / stride + 1;
  }
  return windows;
}

/// What a field has of every sample.
class SeriesSource : public Source {
 public:
  SeriesSource(SourceInfo info, std::shared_ptr<const Source> rows,
               std::shared_ptr<const Windows> windows, const Steps& steps)
      : Source(std::move(info)),
        rows_(std::move(rows)),
        windows_(std::move(windows)),
        steps_(steps) {
    const Shape& shape = rows_->info().shape;
    row_elements_ = num_elements(Shape(shape.begin() + 1, shape.end()));
    // Of what is not in memory many small reads cost more than the bytes that lie between.
    constexpr std::int64_t kGap = 4096, kMost = std::int64_t{1} << 20;
    const std::int64_t gap = row_elements_ * item() * steps_.rate;
    if (steps_.rate > 1 && gap <= kGap && !rows_->is_resident()) most_together_ = kMost / gap;
  }

  const Source& holder() const override { return rows_->holder(); }
  std::int64_t kept_bytes() const override { return rows_->kept_bytes(); }
  bool decodes_samples() const override { return rows_->decodes_samples(); }
  bool has_work() const override { return rows_->has_work(); }
  bool unpacks_files() const override { return rows_->unpacks_files(); }
  std::string_view unpacking_advice() const override { return rows_->unpacking_advice(); }

  SamplePlace place_of(std::int64_t sample) const override {
    SamplePlace place = rows_->place_of(windows_->row_of(sample) + steps_.first);
    place.what = steps_.count == 1 ? "row" : "rows from";
    return place;
  }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    while (count > 0) {
      const std::int64_t step = begin / row_elements_;
      const std::int64_t place = begin % row_elements_;
      const std::int64_t row =
          windows_->row_of(step / steps_.count) + steps_.first + step % steps_.count * steps_.rate;
      const std::int64_t left = steps_.count - step % steps_.count;
      // Rows that lie one behind the other are read at once.
      const std::int64_t rows = steps_.rate == 1 ? left : std::min(left, most_together_);
      const std::int64_t some = std::min(count, rows * row_elements_ - place);
      if (steps_.rate == 1 || place + some <= row_elements_) {
        rows_->read(row * row_elements_ + place, some, out);
      } else {
        read_between(row, place, some, out);
      }
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  /// Elements [place, place + count) of the steps of a window from `row` on, of which what lies
  /// between them is read, too.
  void read_between(std::int64_t row, std::int64_t place, std::int64_t count,
                    std::byte* out) const {
    const std::int64_t steps = ceil_divide(place + count, row_elements_);
    const std::int64_t elements = ((steps - 1) * steps_.rate + 1) * row_elements_;
    std::vector<std::byte> all(static_cast<std::size_t>(elements * item()));
    rows_->read(row * row_elements_, elements, all.data());
    const std::byte* from = all.data();
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t some = std::min(count, row_elements_ - place);
      out = std::copy_n(from + place * item(), some * item(), out);
      from += steps_.rate * row_elements_ * item();
      count -= some;
      place = 0;
    }
  }

  std::shared_ptr<const Source> rows_;
  std::shared_ptr<const Windows> windows_;
  Steps steps_;
  std::int64_t most_together_ = 1;  ///< steps that are read at once where they lie apart
  std::int64_t row_elements_ = 0;
};

Field cut_field(const Field& rows, const Steps& steps, std::shared_ptr<const Windows> windows) {
  Field field = rows;
  SourceInfo info = rows.source->info();
  info.shape[0] = windows->count;
  if (steps.has_dimension) {
    info.shape.insert(info.shape.begin() + 1, steps.count);
    field.shape.insert(field.shape.begin(), steps.count);
  }
  checked_elements(info.name, info.shape, size_of(info.dtype));
  field.source =
      std::make_shared<SeriesSource>(std::move(info), rows.source, std::move(windows), steps);
  return field;
}

[[noreturn]] void fail_too_short(const Split& rows, std::int64_t length, const TimeSeries& series) {
  const Source& source = *rows.fields.front().source;
  const bool has_files = source.files().size() > 1;
  config::fail_at(
      series.at,
      "timeseries: a sample with its target takes {} rows, but split '{}' has {}{} ({}); lower "
      "sequence_length, sampling_rate or delay, or give it more rows",
      length, rows.name, rows.samples, has_files ? ", and no file so many of these" : "",
      source.info().name);
}

}  // namespace

Split cut_timeseries(const Split& rows, const TimeSeries& series) {
  std::int64_t length = 1;
  for (const Field& field : rows.fields) {
    length = std::max(length, steps_of(field.name, series).end());
  }
  const auto windows =
      std::make_shared<const Windows>(windows_of(rows, length, series.sequence_stride));
  if (windows->count == 0) fail_too_short(rows, length, series);
  Split split{.name = rows.name, .first = 0, .samples = windows->count, .fields = {}};
  for (const Field& field : rows.fields) {
    split.fields.push_back(cut_field(field, steps_of(field.name, series), windows));
  }
  return split;
}

}  // namespace meshwork::data

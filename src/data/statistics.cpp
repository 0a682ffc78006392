#include "data/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"

namespace meshwork::data {
namespace {

/// Elements that a task reads; of what is decoded, whole samples of as many.
constexpr std::int64_t kBlock = 65536;

/// Statistics of a part of the samples.
struct Part {
  FieldStatistics statistics;
  bool counts = false;  ///< whether `statistics.counts` has all numbers so far
};

/// Images in grey are rows and columns of one channel.
std::int64_t channels_of(const Field& field) {
  const Shape shape = field.stored_shape();
  if (shape.empty() || shape.size() == 2 || shape.back() > kMostChannels) return 1;
  return shape.back();
}

Part empty_part(const Field& field, std::int64_t channels) {
  Part part;
  part.statistics.channels.resize(static_cast<std::size_t>(channels));
  part.counts = field.conversion.dtype == DType::kInt32;
  return part;
}

void count_number(Part& part, double number, std::int64_t times) {
  if (!part.counts) return;
  constexpr double kMost = 9007199254740992;  // 2^53: beyond, a double is not every whole number
  auto& counts = part.statistics.counts;
  const bool is_whole = number == std::floor(number) && std::abs(number) <= kMost;
  if (is_whole) counts[static_cast<std::int64_t>(number)] += times;
  part.counts = is_whole && counts.size() <= kMostCounted;
  if (!part.counts) counts.clear();
}

/// Elements [first, first + count) of the source.
void add_elements(Part& part, const Field& field, std::int64_t first, std::int64_t count) {
  const DType dtype = field.source->info().dtype;
  const std::size_t size = size_of(dtype);
  const auto numbers = static_cast<std::size_t>(count);
  std::vector<std::byte> raw(numbers * size);
  field.source->read(first, count, raw.data());
  auto& channels = part.statistics.channels;
  const std::size_t channel = static_cast<std::size_t>(first) % channels.size();
  for (std::size_t i = 0; i < numbers; ++i) {
    const double number =
        value_at(raw.data() + i * size, dtype) * field.conversion.scale + field.conversion.offset;
    channels[(channel + i) % channels.size()].add(number);
    if (std::isfinite(number)) count_number(part, number, 1);
  }
}

void add_part(Part& all, const Part& part) {
  for (std::size_t c = 0; c < all.statistics.channels.size(); ++c) {
    all.statistics.channels[c].add(part.statistics.channels[c]);
  }
  if (!part.counts) {
    all.counts = false;
    all.statistics.counts.clear();
  }
  for (const auto& [number, times] : part.statistics.counts) {
    count_number(all, static_cast<double>(number), times);
  }
}

}  // namespace

double NumberStatistics::std() const {
  return count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
}

void NumberStatistics::add(double number) {
  if (!std::isfinite(number)) {
    ++not_finite;
    return;
  }
  ++count;
  const double distance = number - mean;
  mean += distance / static_cast<double>(count);
  squares += distance * (number - mean);
  least = std::min(least, number);
  greatest = std::max(greatest, number);
}

/// Chan, Golub, LeVeque 1979.
void NumberStatistics::add(const NumberStatistics& others) {
  not_finite += others.not_finite;
  if (others.count == 0) return;
  if (count == 0) {
    const std::int64_t all = not_finite;
    *this = others;
    not_finite = all;
    return;
  }
  const auto mine = static_cast<double>(count), theirs = static_cast<double>(others.count);
  const double distance = others.mean - mean;
  mean += distance * (theirs / (mine + theirs));
  squares += others.squares + distance * distance * (mine * theirs / (mine + theirs));
  count += others.count;
  least = std::min(least, others.least);
  greatest = std::max(greatest, others.greatest);
}

FieldStatistics statistics_of(const Split& split, const Field& field, int threads) {
  return statistics_of(split, field, threads, channels_of(field));
}

FieldStatistics statistics_of(const Split& split, const Field& field, int threads,
                              std::int64_t channels) {
  const std::int64_t of_sample = num_elements(field.stored_shape());
  const bool reads_whole = field.source->decodes_samples();
  const std::int64_t block = reads_whole ? ceil_divide(kBlock, of_sample) * of_sample : kBlock;
  const std::int64_t begin = split.first * of_sample;
  const std::int64_t end = begin + split.samples * of_sample;
  Part all = empty_part(field, channels);
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  for (std::int64_t first = begin; first < end; first += block * threads) {
    for_each_by(parts.size(), 0, parts.size(), [&](std::size_t, std::size_t i) {
      parts[i] = empty_part(field, channels);
      const std::int64_t mine = first + static_cast<std::int64_t>(i) * block;
      if (mine < end) add_elements(parts[i], field, mine, std::min(block, end - mine));
    });
    for (const Part& part : parts) add_part(all, part);
  }
  return std::move(all.statistics);
}

}  // namespace meshwork::data

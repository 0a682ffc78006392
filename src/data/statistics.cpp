#include "data/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/team.h"

namespace meshwork::data {
namespace {

/// Elements that a task reads, if a sample has no more.
constexpr std::int64_t kBlock = 65536;

/// Statistics of a part of the samples.
struct Part {
  FieldStatistics statistics;
  bool counts = false;  ///< whether `statistics.counts` has all numbers so far
};

/// Images in grey are rows and columns of one channel.
std::size_t channels_of(const Field& field) {
  const Shape shape = field.stored_shape();
  return shape.empty() || shape.size() == 2 ? 1 : static_cast<std::size_t>(shape.back());
}

Part empty_part(const Field& field) {
  Part part;
  part.statistics.channels.resize(channels_of(field));
  part.counts = field.conversion.dtype == DType::kInt32;
  return part;
}

void count(Part& part, double number, std::int64_t times) {
  if (!part.counts) return;
  auto& counts = part.statistics.counts;
  counts[static_cast<std::int64_t>(number)] += times;
  part.counts = number == std::floor(number) && counts.size() <= kMostCounted;
  if (!part.counts) counts.clear();
}

void add_samples(Part& part, const Field& field, std::int64_t first, std::int64_t samples) {
  const std::int64_t elements = num_elements(field.stored_shape());
  const DType dtype = field.source->info().dtype;
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> raw(static_cast<std::size_t>(samples * elements) * size);
  field.source->read(first * elements, samples * elements, raw.data());
  auto& channels = part.statistics.channels;
  const std::size_t numbers = raw.size() / size;
  for (std::size_t i = 0; i < numbers; ++i) {
    const double number =
        value_at(raw.data() + i * size, dtype) * field.conversion.scale + field.conversion.offset;
    channels[i % channels.size()].add(number);
    if (std::isfinite(number)) count(part, number, 1);
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
    count(all, static_cast<double>(number), times);
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
  const auto mine = static_cast<double>(count), theirs = static_cast<double>(others.count);
  const double distance = others.mean - mean;
  mean += distance * (theirs / (mine + theirs));
  squares += others.squares + distance * distance * (mine * theirs / (mine + theirs));
  count += others.count;
  least = std::min(least, others.least);
  greatest = std::max(greatest, others.greatest);
}

FieldStatistics statistics_of(const Split& split, const Field& field, int threads) {
  const std::int64_t elements = num_elements(field.stored_shape());
  const std::int64_t block = std::max<std::int64_t>(kBlock / elements, 1);
  Part all = empty_part(field);
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  for (std::int64_t first = 0; first < split.samples; first += block * threads) {
    for_each_by(parts.size(), 0, parts.size(), [&](std::size_t, std::size_t i) {
      parts[i] = empty_part(field);
      const std::int64_t begin = first + static_cast<std::int64_t>(i) * block;
      const std::int64_t some = std::min(block, split.samples - begin);
      if (some > 0) add_samples(parts[i], field, split.first + begin, some);
    });
    for (const Part& part : parts) add_part(all, part);
  }
  return std::move(all.statistics);
}

}  // namespace meshwork::data

#include "data/odd_labels.h"
#include "base/names.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace meshwork::data {
namespace {

using Counts = std::map<double, std::int64_t>;

/// How many samples have each label, as it is stored; nothing where there are more than `most`.
Counts count_labels(const Split& split, const Field& field, std::size_t most) {
  constexpr std::int64_t kChunk = 4096;
  const DType dtype = field.source->info().dtype;
  const std::size_t size = size_of(dtype);
  std::vector<std::byte> raw(static_cast<std::size_t>(kChunk) * size);
  Counts counts;
  for (std::int64_t done = 0; done < split.samples; done += kChunk) {
    const std::int64_t some = std::min(kChunk, split.samples - done);
    field.source->read(split.first + done, some, raw.data());
    for (std::int64_t i = 0; i < some; ++i) {
      const double label = value_at(raw.data() + static_cast<std::size_t>(i) * size, dtype);
      if (!std::isnan(label)) ++counts[label];
    }
    if (counts.size() > most) return {};
  }
  return counts;
}

/// How many classes a field of labels may have; 0: it is none. Labels of which nobody says so may
/// be of a binary choice.
std::size_t most_classes(const Field& field) {
  const bool is_label = field.name == names::kLabels || field.label_limit > 0;
  const bool is_number =
      num_elements(field.stored_shape()) == 1 && field.source->info().vocabulary == nullptr;
  if (!is_label || !is_number) return 0;
  return static_cast<std::size_t>(std::max<std::int64_t>({field.classes, field.label_limit, 2}));
}

}  // namespace

std::optional<std::string> odd_labels(const Split& train, const Split& taken) {
  for (const Field& field : train.fields) {
    const Field* const theirs = taken.find(field.name);
    const std::size_t most = most_classes(field);
    if (most == 0 || theirs == nullptr) continue;
    const Counts known = count_labels(train, field, most);
    const Counts counts = count_labels(taken, *theirs, most);
    if (known.empty() || counts.empty()) continue;
    std::int64_t samples = 0;
    std::optional<double> first;
    for (const auto& [label, count] : counts) {
      if (known.contains(label)) continue;
      samples += count;
      if (!first) first = label;
    }
    if (first) {
      return fmt::format("{} of them have labels that no other sample has, such as {}", samples,
                         *first);
    }
    constexpr std::int64_t kFew = 16;  // of so few all may be alike by chance
    if (counts.size() == 1 && known.size() > 1 && taken.samples >= kFew) {
      return fmt::format("all of them have one label, {}", counts.begin()->first);
    }
  }
  return std::nullopt;
}

}  // namespace meshwork::data

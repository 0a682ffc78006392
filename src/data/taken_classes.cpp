#include "data/taken_classes.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace meshwork::data {
namespace {

/// The different labels among the first `count`, which are int32.
std::size_t classes_among(const Source& labels, std::int64_t first, std::int64_t count) {
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(count));
  labels.read(first, count, reinterpret_cast<std::byte*>(numbers.data()));
  return std::set<std::int32_t>(numbers.begin(), numbers.end()).size();
}

}  // namespace

std::optional<std::string> taken_classes(const Split& split) {
  for (const Field& field : split.fields) {
    const Source& source = *field.source;
    const SourceInfo& info = source.info();
    const bool is_of_folder = info.names.key == "class_names" && info.dtype == DType::kInt32;
    if (!is_of_folder || split.samples >= info.shape[0]) continue;
    const std::size_t all = classes_among(source, 0, info.shape[0]);
    const std::size_t taken = classes_among(source, split.first, split.samples);
    if (taken == all) continue;
    return fmt::format(
        "{}: take: the first {} of {} samples are of {} of the {} classes, for a folder is read "
        "class by class; train on all for fewer steps (fit.steps_per_epoch), name the classes you "
        "want (dataset.class_names), or put some of each class in a folder of their own",
        info.name, split.samples, info.shape[0], taken, all);
  }
  return std::nullopt;
}

}  // namespace meshwork::data

#include "state/weights_file.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/error.h"
#include "state/stored_tensors.h"

namespace meshwork {
namespace {

constexpr std::string_view kLayers = "layers/";

/// The beginning of paths that most of `weights` have in the file, "" where it is their own path;
/// nullopt where it has none of them.
std::optional<std::string> common_prefix(const TensorFile& file,
                                         const std::vector<GlobalTensor>& weights) {
  constexpr std::size_t kAsked = 100;  // of many weights the first ones
  std::map<std::string, std::size_t> counts;
  for (const GlobalTensor& weight : std::span(weights).first(std::min(kAsked, weights.size()))) {
    if (find_stored(file.tensors(), weight.path) != nullptr) ++counts[""];
    for (const StoredTensor& tensor : file.tensors()) {
      if (!tensor.path.ends_with("/" + weight.path)) continue;
      ++counts[tensor.path.substr(0, tensor.path.size() - weight.path.size())];
    }
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

/// A number of steps.
bool is_count(const GlobalTensor& tensor) {
  return tensor.dtype == DType::kInt32 && tensor.shape.empty();
}

}  // namespace

WeightsFile::WeightsFile(const std::string& file, const std::vector<GlobalTensor>& weights,
                         const DescribeForKeras& describe, MayKeep may_keep)
    : may_keep_(std::move(may_keep)) {
  const Format& format = format_of(file);
  file_ = format.open(file);
  if (format.naming == Naming::kKeras) {
    models_ = describe();
    find_by_layer(weights);
  } else {
    find_by_path(weights);
  }
}

WeightsFile::WeightsFile(std::unique_ptr<TensorFile> file, const std::vector<GlobalTensor>& weights,
                         MayKeep may_keep)
    : file_(std::move(file)), may_keep_(std::move(may_keep)) {
  find_by_path(weights);
}

void WeightsFile::find_by_path(const std::vector<GlobalTensor>& weights) {
  const std::string prefix = common_prefix(*file_, weights).value_or("");
  for (const GlobalTensor& weight : weights) places_[weight.path] = prefix + weight.path;
  check(weights, prefix);
}

void WeightsFile::find_by_layer(const std::vector<GlobalTensor>& weights) {
  const bool has_layers =
      std::any_of(file_->tensors().begin(), file_->tensors().end(),
                  [](const StoredTensor& tensor) { return tensor.path.starts_with(kLayers); });
  if (!has_layers && !weights.empty()) {
    fail(ExitCode::kFile,
         "{}: has no weights of layers as Keras 3 stores them; save them with "
         "model.save_weights('name.weights.h5')",
         file_->name());
  }
  places_ = find_keras_places(models_, *file_, weights, may_keep_, &note_);
  check(weights, "");
}

void WeightsFile::check(std::vector<GlobalTensor> expected, const std::string& prefix) {
  std::set<std::string> left_over;  // places in the file
  for (const std::string& path : kept_variables(file_->tensors(), expected, may_keep_, places_)) {
    left_over.insert(places_.at(path));
    places_.erase(path);
  }
  std::erase_if(expected, [&](const GlobalTensor& tensor) { return !has(tensor); });
  for (GlobalTensor& tensor : expected) {
    const StoredTensor* stored = find_stored(file_->tensors(), places_.at(tensor.path));
    const bool is_wider = is_count(tensor) && stored != nullptr && count_in(*stored);
    if (is_wider) tensor.dtype = *dtype_of(*stored);
  }
  std::set<std::string> read;
  for (const auto& [path, place] : places_) read.insert(place);
  const auto is_left_over = [&](const std::string& place) {
    if (left_over.contains(place)) return true;
    if (!may_keep_ || read.contains(place)) return false;
    if (!models_.empty()) {
      return place.starts_with(kLayers) && may_keep_(name_of_place(*file_, place));
    }
    return place.starts_with(prefix) && may_keep_(place.substr(prefix.size()));
  };
  std::vector<StoredTensor> stored;
  for (const StoredTensor& tensor : file_->tensors()) {
    const bool is_weight = models_.empty() || tensor.path.starts_with(kLayers);
    if (is_weight && !is_left_over(tensor.path)) stored.push_back(tensor);
  }
  check_stored_tensors(file_->name(), stored, expected, false, places_);
}

bool knows_by_path(const TensorFile& file, const std::vector<GlobalTensor>& weights) {
  return common_prefix(file, weights).has_value();
}

bool WeightsFile::find_slots(const std::vector<GlobalTensor>& slots) {
  if (models_.empty()) return false;
  const KerasModel& model = models_.front();
  const std::size_t found = count_keras_optimizer_variables(*file_);
  const std::size_t before = model.counters.empty() ? 0 : kInnerBegin;
  // Compiled, and not trained yet: steps and learning rates alone.
  if (found <= (before == 0 ? 2 : 4) && !slots.empty()) return false;
  if (found == 0) return false;
  const auto stands_for_none = [&](const std::string& path) {
    return std::none_of(slots.begin(), slots.end(),
                        [&](const GlobalTensor& slot) { return slot.path == path; });
  };
  const auto empty = static_cast<std::size_t>(
      std::count_if(model.placeholders.begin(), model.placeholders.end(), stands_for_none));
  const std::size_t own = slots.size() - model.counters.size() + empty;
  const bool is_known = found == before + own + 1 || found == before + own + 2;
  if (!is_known) {
    fail(ExitCode::kFile,
         "{}: its optimizer has {} variables, {} of the configuration {}; take the weights alone "
         "with --weights-only, or configure the optimizer of the file",
         file_->name(), found, before == 0 ? model.optimizer : model.scaled_by,
         before + own + 1 + std::size_t{model.has_learning_rate});
  }
  std::vector<GlobalTensor> in_order;
  const auto place = [&](const std::vector<std::string>& paths, std::size_t number) {
    for (const std::string& path : paths) {
      const auto slot = std::find_if(slots.begin(), slots.end(),
                                     [&](const GlobalTensor& s) { return s.path == path; });
      if (slot == slots.end()) {
        number += model.placeholders.count(path);
        continue;
      }
      places_[path] = keras_optimizer_place(number++);
      in_order.push_back(*slot);
    }
  };
  place(model.counters, kFirstCounter);
  place(model.slots, found - own);
  MW_CHECK(in_order.size() == slots.size(), "{} of {} slots", in_order.size(), slots.size());
  std::erase_if(in_order, [&](const GlobalTensor& slot) {
    const StoredTensor* stored = find_stored(file_->tensors(), places_.at(slot.path));
    return is_count(slot) && stored != nullptr && count_in(*stored);
  });
  check_stored_tensors(file_->name(), file_->tensors(), in_order, true, places_);
  return true;
}

/// The scalar of whole numbers: Keras's are int32 on JAX and int64 on TensorFlow.
std::optional<std::int64_t> WeightsFile::count_in(const StoredTensor& stored) const {
  const auto read_as = [&](auto number) {
    file_->read(stored, whole_region({}), {}, reinterpret_cast<std::byte*>(&number));
    return static_cast<std::int64_t>(number);
  };
  if (!stored.shape.empty()) return std::nullopt;
  if (stored.dtype == stored_dtype(DType::kInt32)) return read_as(std::int32_t{});
  if (stored.dtype == stored_dtype(DType::kInt64)) return read_as(std::int64_t{});
  return std::nullopt;
}

std::int64_t WeightsFile::iteration() const {
  const bool is_scaled = !models_.empty() && !models_.front().scaled_by.empty();
  const std::string place = keras_optimizer_place(is_scaled ? kInnerBegin : 0);
  const StoredTensor* stored = find_stored(file_->tensors(), place);
  const std::int64_t steps = stored == nullptr ? -1 : count_in(*stored).value_or(-1);
  if (steps >= 0) return steps;
  fail(ExitCode::kFile, "{}: '{}' is not the number of steps that an optimizer has done",
       file_->name(), place);
}

void WeightsFile::read(const GlobalTensor& tensor, const Region& region, const Shape& local,
                       std::byte* to) const {
  const StoredTensor* stored = find_stored(file_->tensors(), places_.at(tensor.path));
  if (stored != nullptr && is_count(tensor) && count_in(*stored)) {
    const auto count = static_cast<std::int32_t>(*count_in(*stored));
    std::memcpy(to, &count, sizeof count);
    return;
  }
  MW_CHECK(stored != nullptr && is_same_type(*stored, tensor), "{}", tensor.path);
  file_->read(*stored, region, local, to);
}

}  // namespace meshwork

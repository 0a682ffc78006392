#include "data/formats/source.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/fitting_product.h"
#include "base/names.h"
#include "data/find_file.h"

namespace meshwork::data {

std::string name_of(const FieldEntry& entry) {
  const std::string holder = entry.split.empty() ? "files" : "splits." + entry.split;
  return holder + "." + entry.field;
}

config::Reader keys_of(const FieldEntry& entry) {
  return {entry.value.is_map() ? entry.value : config::Value{}, name_of(entry)};
}

FileNames file_names(const config::Value& value, const std::string& what) {
  FileNames files{{}, value.at};
  if (value.is_scalar()) files.names.push_back(value.as_string(what));
  for (const config::Value& item : value.list) files.names.push_back(item.as_string(what));
  if (files.names.empty()) config::fail_at(value.at, "{} must name a file", what);
  for (const std::string& name : files.names) {
    if (name.empty()) config::fail_at(value.at, "{} must name a file, not ''", what);
  }
  return files;
}

FileNames files_of(const FieldEntry& entry, config::Reader& keys) {
  const config::Value& value = entry.value.is_map() ? keys.require("file") : entry.value;
  return file_names(value, name_of(entry));
}

FileNames files_of(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  FileNames files = files_of(entry, keys);
  keys.finish();
  return files;
}

bool overlooks_weights(const FieldEntry& entry) {
  if (entry.field != entry.fields.front()) return false;
  if (entry.description.find(names::kSampleWeight) != nullptr) return false;
  const config::Value::Entry* holder =
      entry.description.find(entry.split.empty() ? "files" : "splits");
  if (holder != nullptr && !entry.split.empty()) holder = holder->value.find(entry.split);
  return holder != nullptr && !holder->value.is_map();
}

void fail_for_weights(const std::string& file, const config::Location& at) {
  config::fail_at(at,
                  "{}: it holds '{}', which nobody reads: give the dataset the key {}: {{}}, and "
                  "they weight the samples, or {}: null, and they do not",
                  file, names::kSampleWeight, names::kSampleWeight, names::kSampleWeight);
}

std::string OpenContext::find_file(const std::string& file, const config::Location& at) const {
  return data::find_file(file, directories, at, hint);
}

bool OpenContext::keeps(std::int64_t bytes_of_file) const {
  return cache.value_or(bytes_of_file <= kCachedByDefault / files);
}

std::int64_t checked_elements(const std::string& name, const Shape& shape, std::size_t size) {
  if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
    fail(ExitCode::kFile, "{}: shape {} has a negative dimension; is the file damaged?", name,
         to_string(shape));
  }
  if (!fitting_product(shape, static_cast<std::int64_t>(size))) {
    fail(ExitCode::kFile, "{}: shape {} is more than any file can hold; is the file damaged?", name,
         to_string(shape));
  }
  return num_elements(shape);
}

std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text.size() > kMost ? shown + "..." : shown;
}

void Source::read(std::int64_t begin, std::int64_t count, std::byte* out) const {
  MW_CHECK(begin >= 0 && count >= 0 && begin + count <= num_elements(info_.shape));
  if (!is_resident()) return fetch(begin, count, out);
  std::copy_n(samples() + begin * item(), count * item(), out);
}

const std::byte* Source::samples() const {
  MW_CHECK(is_resident(), "{}", info_.name);
  const std::lock_guard lock(mutex_);
  if (kept_.data == nullptr) {
    HeapBytes all = HeapBytes::of_size(static_cast<std::size_t>(bytes()));
    fetch(0, num_elements(info_.shape), all.data.get());
    kept_ = std::move(all);
  }
  return kept_.data.get();
}

}  // namespace meshwork::data

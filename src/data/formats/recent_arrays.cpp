#include "data/formats/recent_arrays.h"

#include <algorithm>

namespace meshwork::data {
namespace {

constexpr std::size_t kLeast = 2;

}  // namespace

std::int64_t RecentArrays::claim(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool is_among_least = claims_++ < static_cast<std::int64_t>(kLeast);
  const std::int64_t kept =
      is_among_least ? bytes : std::clamp(most_ - claimed_, std::int64_t{0}, bytes);
  claimed_ += kept;
  return kept;
}

std::shared_ptr<const HeapBytes> RecentArrays::get(const std::string& file, std::int64_t bytes,
                                                   const std::function<HeapBytes()>& unpack) {
  const std::shared_ptr<Array> array = find(file, bytes);
  const std::lock_guard lock(array->mutex);
  if (array->data == nullptr) array->data = std::make_shared<const HeapBytes>(unpack());
  return array->data;
}

/// The array of a file at the front of the list. What has to make room for it goes before it is
/// unpacked.
std::shared_ptr<RecentArrays::Array> RecentArrays::find(const std::string& file,
                                                        std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(arrays_.begin(), arrays_.end(),
                                  [&](const auto& array) { return array->file == file; });
  if (known != arrays_.end()) {
    arrays_.splice(arrays_.begin(), arrays_, known);
    return arrays_.front();
  }
  while (arrays_.size() >= kLeast && bytes_ + bytes > most_) {
    bytes_ -= arrays_.back()->bytes;
    arrays_.pop_back();
  }
  arrays_.push_front(std::make_shared<Array>());
  arrays_.front()->file = file;
  arrays_.front()->bytes = bytes;
  bytes_ += bytes;
  return arrays_.front();
}

}  // namespace meshwork::data

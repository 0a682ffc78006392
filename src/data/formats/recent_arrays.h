#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "data/formats/file_bytes.h"

namespace meshwork::data {

/// Unpacked arrays of the files of a field: those used last, as many as fit into so many bytes, and
/// two at least: readers of neighbouring rows meet two files at most.
class RecentArrays {
 public:
  explicit RecentArrays(std::int64_t bytes) : most_(bytes) {}

  /// For each file once: the bytes of its array that are kept if all are read, the first ones most.
  std::int64_t claim(std::int64_t bytes);

  /// The array of a file, unpacked if it is not there: by one thread, for which others that want
  /// it wait. Throws what `unpack` throws.
  std::shared_ptr<const HeapBytes> get(const std::string& file, std::int64_t bytes,
                                       const std::function<HeapBytes()>& unpack);

 private:
  struct Array {
    std::string file;
    std::int64_t bytes = 0;
    std::mutex mutex;  ///< of `data`
    std::shared_ptr<const HeapBytes> data;
  };

  std::shared_ptr<Array> find(const std::string& file, std::int64_t bytes);

  std::int64_t most_;
  std::mutex mutex_;
  std::int64_t claimed_ = 0, claims_ = 0;
  std::int64_t bytes_ = 0;                    ///< of all in the list
  std::list<std::shared_ptr<Array>> arrays_;  ///< the one used last stands first
};

}  // namespace meshwork::data

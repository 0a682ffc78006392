#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "data/formats/hdf5_library.h"

namespace meshwork::data::hdf5 {

/// How a dataset lies in its file: as a whole, or in chunks, each packed by itself.
struct Storage {
  Shape chunk;  ///< its extents; empty where there are none
  bool is_packed = false;
  std::int64_t chunk_bytes = 0;   ///< unpacked
  std::int64_t sample_bytes = 0;  ///< unpacked, of the chunks that a sample may lie in
};

/// Throws Error with ExitCode::kFile, which calls the dataset `name`, where it is packed in a way
/// that cannot be unpacked here.
Storage storage_of(const Dataset& dataset, const Array& array, const std::string& name);

/// Bytes of unpacked chunks that the library is to keep, so that a chunk of several samples, or
/// several parts of one, is unpacked once; 0: what it keeps anyway is enough.
std::int64_t cache_for(const Storage& storage);
constexpr std::int64_t kMostCached = std::int64_t{1} << 28;  ///< of a field
constexpr std::size_t kCacheSlots = 10007;                   ///< a prime number

/// Looks for what the library does not look at: it would read zeros where a chunk was never
/// written, and past the end of one that is too short. Whoever calls it is in the library.
class ChunkCheck {
 public:
  ChunkCheck(Storage storage, const Shape& shape);

  /// Throws Error with ExitCode::kFile unless all chunks that the part [offset, offset + local)
  /// lies in are there. Each is looked at once.
  void check(const Dataset& dataset, const Shape& offset, const Shape& local,
             const std::string& name);

 private:
  void check_chunk(const Dataset& dataset, const Shape& at, const std::string& name) const;
  std::int64_t number_of(const Shape& at) const;

  Storage storage_;
  Shape chunks_;               ///< how many there are in each dimension
  std::vector<bool> is_good_;  ///< by number; empty where there are too many to remember
};

}  // namespace meshwork::data::hdf5

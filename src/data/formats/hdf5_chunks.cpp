#include "data/formats/hdf5_chunks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/fitting_product.h"
#include "base/rounded_up.h"
#include "data/formats/source.h"

namespace meshwork::data::hdf5 {
namespace {

constexpr std::int64_t kMostRemembered = std::int64_t{1} << 26;  // chunks, a bit for each

void check_filters(const Properties& how, const std::string& name) {
  for (int i = 0; i < H5Pget_nfilters(how); ++i) {
    std::array<char, 64> word{};
    unsigned flags = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(how, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, word.size() - 1, word.data(), nullptr);
    if (H5Zfilter_avail(filter) > 0) continue;
    fail(ExitCode::kFile,
         "{}: packed with '{}' (filter {}), which cannot be unpacked here; pack it with gzip", name,
         printable(word.data()), static_cast<int>(filter));
  }
}

/// Whether a packed chunk of `bytes` was left as it is by some of the filters.
bool skips_filters(const Dataset& dataset, const std::vector<hsize_t>& at, hsize_t bytes) {
  std::vector<std::byte> packed(bytes);
  std::uint32_t skipped = 0;
  return H5Dread_chunk(dataset, H5P_DEFAULT, at.data(), &skipped, packed.data()) < 0 ||
         skipped != 0;
}

/// Goes through all chunks of the dataset.
bool was_written(const Dataset& dataset, const std::vector<hsize_t>& at) {
  unsigned skipped = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  return H5Dget_chunk_info_by_coord(dataset, at.data(), &skipped, &address, &bytes) < 0 ||
         address != HADDR_UNDEF;
}

}  // namespace

Storage storage_of(const Dataset& dataset, const Array& array, const std::string& name) {
  const Properties how(H5Dget_create_plist(dataset));
  check_filters(how, name);
  Storage storage{.chunk = {}, .is_packed = H5Pget_nfilters(how) > 0};
  if (H5Pget_layout(how) != H5D_CHUNKED) return storage;
  std::vector<hsize_t> extents(array.shape.size());
  H5Pget_chunk(how, static_cast<int>(extents.size()), extents.data());
  storage.chunk.assign(extents.begin(), extents.end());
  const Type type(H5Dget_type(dataset));
  storage.chunk_bytes = num_elements(storage.chunk) * static_cast<std::int64_t>(H5Tget_size(type));
  Shape chunks;
  for (std::size_t d = 1; d < extents.size(); ++d) {
    chunks.push_back(ceil_divide(array.shape[d], storage.chunk[d]));
  }
  storage.sample_bytes = fitting_product(chunks, storage.chunk_bytes).value_or(INT64_MAX);
  return storage;
}

std::int64_t cache_for(const Storage& storage) {
  constexpr std::int64_t kAnyway = std::int64_t{1} << 20;
  constexpr std::int64_t kReaders = 4;  // devices of the process, each at a sample of its own
  const std::int64_t wanted = kReaders * std::min(storage.sample_bytes, kMostCached);
  if (!storage.is_packed || wanted <= kAnyway) return 0;
  return std::max(std::min(wanted, kMostCached), storage.chunk_bytes);
}

ChunkCheck::ChunkCheck(Storage storage, const Shape& shape) : storage_(std::move(storage)) {
  for (std::size_t d = 0; d < storage_.chunk.size(); ++d) {
    chunks_.push_back(ceil_divide(shape[d], storage_.chunk[d]));
  }
  const std::int64_t all = fitting_product(chunks_).value_or(INT64_MAX);
  if (all <= kMostRemembered) is_good_.resize(static_cast<std::size_t>(all));
}

std::int64_t ChunkCheck::number_of(const Shape& at) const {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    number = number * chunks_[d] + at[d] / storage_.chunk[d];
  }
  return number;
}

void ChunkCheck::check_chunk(const Dataset& dataset, const Shape& at,
                             const std::string& name) const {
  const std::vector<hsize_t> offset(at.begin(), at.end());
  hsize_t bytes = 0;
  const bool is_there = H5Dget_chunk_storage_size(dataset, offset.data(), &bytes) >= 0;
  if (is_there && bytes >= static_cast<hsize_t>(storage_.chunk_bytes)) return;
  constexpr hsize_t kChecksum = 4;  // the least that a filter leaves
  const bool is_packed = is_there && storage_.is_packed && bytes >= kChecksum;
  if (is_packed && !skips_filters(dataset, offset, bytes)) return;
  if (!was_written(dataset, offset)) {
    fail(ExitCode::kFile, "{}: nothing was written at {}; write the rest of it", name,
         to_string(at));
  }
  fail(ExitCode::kFile, "{}: the chunk at {} is damaged; write the file again", name,
       to_string(at));
}

void ChunkCheck::check(const Dataset& dataset, const Shape& offset, const Shape& local,
                       const std::string& name) {
  if (storage_.chunk.empty()) return;
  Shape first = offset;
  for (std::size_t d = 0; d < first.size(); ++d) first[d] -= first[d] % storage_.chunk[d];
  Shape at = first;
  for (;;) {
    const auto number = static_cast<std::size_t>(is_good_.empty() ? 0 : number_of(at));
    if (is_good_.empty() || !is_good_[number]) {
      check_chunk(dataset, at, name);
      if (!is_good_.empty()) is_good_[number] = true;
    }
    std::size_t d = at.size();
    while (d > 0 && (at[d - 1] += storage_.chunk[d - 1]) >= offset[d - 1] + local[d - 1]) {
      --d;
      at[d] = first[d];
    }
    if (d == 0) return;
  }
}

}  // namespace meshwork::data::hdf5

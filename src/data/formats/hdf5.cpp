// HDF5. An entry is {file: cosmo.h5, dataset: universe/full}; `dataset` is the field's name unless
// given. A dataset that is kept (by default up to 1 GiB for all files, or `cache`) is read once; of
// another one just what is asked for is read, which may be a part of a sample.
#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/hdf5_library.h"

namespace meshwork::data {
namespace {

struct DatasetInFile {
  std::string path;
  std::string dataset;
  std::string name() const { return fmt::format("{}: dataset '{}'", path, dataset); }
};

/// A dataset that is open, and the file that it is in.
struct OpenDataset {
  std::string path;
  hdf5::File file;
  hdf5::Dataset dataset;
};

/// The names that a dataset may be meant by, of the group that it would lie in.
std::vector<std::string> neighbours(const hdf5::File& file, const std::string& dataset) {
  const std::size_t slash = dataset.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : dataset.substr(0, slash + 1);
  const hdf5::Object group(H5Oopen(file, folder.empty() ? "/" : folder.c_str(), H5P_DEFAULT));
  std::vector<std::string> names;
  if (!group.is_open()) return names;
  for (const hdf5::Link& link : hdf5::links_of(group).value_or(std::vector<hdf5::Link>{})) {
    names.push_back(folder + link.name);
  }
  return names;
}

OpenDataset open_dataset(const DatasetInFile& where) {
  hdf5::File file = hdf5::open_file(where.path, where.path);
  hdf5::Dataset dataset(H5Dopen2(file, where.dataset.c_str(), H5P_DEFAULT));
  if (!dataset.is_open()) {
    fail(ExitCode::kFile, "{}: has no dataset '{}'{}", where.path, where.dataset,
         suggestion(where.dataset, neighbours(file, where.dataset)));
  }
  return {where.path, std::move(file), std::move(dataset)};
}

/// Datasets of the files of a field that were used last, with what the library keeps of them. A
/// process may open some thousand files at most.
class OpenDatasets {
 public:
  explicit OpenDatasets(std::string dataset) : dataset_(std::move(dataset)) {}
  ~OpenDatasets() {
    const hdf5::Library library;
    open_.clear();
  }
  OpenDatasets(const OpenDatasets&) = delete;
  OpenDatasets& operator=(const OpenDatasets&) = delete;

  /// Holds until the next call. The caller is in the library.
  const hdf5::Dataset& get(const std::string& path) {
    const auto known = std::ranges::find(open_, path, &OpenDataset::path);
    if (known != open_.end()) {
      open_.splice(open_.begin(), open_, known);
    } else {
      if (open_.size() == kMost) open_.pop_back();
      open_.push_front(open_dataset({path, dataset_}));
    }
    return open_.front().dataset;
  }

 private:
  static constexpr std::size_t kMost = 32;

  std::string dataset_;
  std::list<OpenDataset> open_;  ///< the one used last stands first
};

/// The longest part of a row-major array that begins at an element, is a rectangle and has no more
/// than `count` elements.
Region rectangle_at(const Shape& shape, std::int64_t begin, std::int64_t count, Shape& local) {
  Region region{shape, Shape(shape.size(), 0)};
  local.assign(shape.size(), 1);
  std::int64_t stride = num_elements(shape);
  bool is_chosen = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride /= shape[d];
    region.offset[d] = begin / stride % shape[d];
    if (is_chosen) {
      local[d] = shape[d];
    } else if (begin % stride == 0 && count >= stride) {
      local[d] = std::min(count / stride, shape[d] - region.offset[d]);
      is_chosen = true;
    }
  }
  return region;
}

/// How a dataset lies in its file: as a whole, or in chunks, each packed by itself.
struct Storage {
  Shape chunk;  ///< its extents; empty where there are none
  bool is_packed = false;
  std::int64_t chunk_bytes = 0;  ///< unpacked
};

Storage storage_of(const hdf5::Dataset& dataset, std::size_t rank) {
  const hdf5::Properties how(H5Dget_create_plist(dataset));
  Storage storage{.chunk = {}, .is_packed = H5Pget_nfilters(how) > 0};
  if (H5Pget_layout(how) != H5D_CHUNKED) return storage;
  std::vector<hsize_t> extents(rank);
  H5Pget_chunk(how, static_cast<int>(rank), extents.data());
  storage.chunk.assign(extents.begin(), extents.end());
  const hdf5::Type type(H5Dget_type(dataset));
  storage.chunk_bytes = num_elements(storage.chunk) * static_cast<std::int64_t>(H5Tget_size(type));
  return storage;
}

/// What the library does not look at: it would read zeros where a chunk was never written, and past
/// the end of one that is too short.
void check_chunk(const hdf5::Dataset& dataset, const Storage& storage, const Shape& at,
                 const std::string& name) {
  const std::vector<hsize_t> offset(at.begin(), at.end());
  unsigned skipped = 0;  // filters
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  constexpr hsize_t kChecksum = 4;  // the least that a filter leaves
  const bool is_known =
      H5Dget_chunk_info_by_coord(dataset, offset.data(), &skipped, &address, &bytes) >= 0;
  if (is_known && address == HADDR_UNDEF) {
    fail(ExitCode::kFile, "{}: nothing was written at {}; write the rest of it", name,
         to_string(at));
  }
  const auto least =
      storage.is_packed && skipped == 0 ? kChecksum : static_cast<hsize_t>(storage.chunk_bytes);
  if (is_known && bytes >= least) return;
  fail(ExitCode::kFile, "{}: the chunk at {} is damaged; write the file again", name,
       to_string(at));
}

/// The chunks that a part [offset, offset + local) of a dataset lies in.
void check_chunks(const hdf5::Dataset& dataset, const Storage& storage, const Shape& offset,
                  const Shape& local, const std::string& name) {
  if (storage.chunk.empty()) return;
  Shape first = offset;
  for (std::size_t d = 0; d < first.size(); ++d) first[d] -= first[d] % storage.chunk[d];
  Shape at = first;
  for (;;) {
    check_chunk(dataset, storage, at, name);
    std::size_t d = at.size();
    while (d > 0 && (at[d - 1] += storage.chunk[d - 1]) >= offset[d - 1] + local[d - 1]) {
      --d;
      at[d] = first[d];
    }
    if (d == 0) return;
  }
}

class Hdf5Source : public Source {
 public:
  Hdf5Source(DatasetInFile where, const hdf5::Array& array, bool keeps, Storage storage,
             std::shared_ptr<OpenDatasets> open)
      : Source({where.name(), array.shape, *array.dtype}),
        where_(std::move(where)),
        keeps_(keeps),
        storage_(std::move(storage)),
        open_(std::move(open)) {}

  bool is_resident() const override { return keeps_; }
  /// What is packed is unpacked in chunks, whatever part of one is wanted.
  bool decodes_samples() const override {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 24;
    return !keeps_ && storage_.is_packed &&
           bytes() / std::max<std::int64_t>(info().shape[0], 1) <= kMostBytes;
  }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const hdf5::Library library;
    Shape local;
    while (count > 0) {
      const Region part = rectangle_at(info().shape, begin, count, local);
      const hdf5::Dataset& dataset = open_->get(where_.path);
      check_chunks(dataset, storage_, part.offset, local, info().name);
      if (!hdf5::read_part(dataset, info().dtype, part.offset, local, out)) {
        fail(ExitCode::kFile, "{}: cannot be read; is the file cut off? write it again",
             info().name);
      }
      const std::int64_t some = num_elements(local);
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  DatasetInFile where_;
  bool keeps_;
  Storage storage_;
  std::shared_ptr<OpenDatasets> open_;
};

hdf5::Array checked_array(const hdf5::Dataset& dataset, const DatasetInFile& where) {
  hdf5::Array array = hdf5::describe(dataset, where.dataset, where.path);
  if (!array.dtype) {
    fail(ExitCode::kFile, "{}: holds {}, not numbers", where.name(),
         array.is_text ? "texts; store the number of each class" : "values of a type of its own");
  }
  if (array.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", where.name());
  }
  checked_elements(where.name(), array.shape, size_of(*array.dtype));
  return array;
}

/// Of a dataset that lies in its file as a whole.
void check_size(const hdf5::Dataset& dataset, const std::string& name, std::int64_t bytes) {
  const auto stored = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
  if (stored >= bytes) return;
  fail(ExitCode::kFile, "{}: {} bytes of {} are stored; write the rest of it", name, stored, bytes);
}

std::unique_ptr<Source> open_hdf5(const DatasetInFile& where, const OpenContext& context,
                                  const std::shared_ptr<OpenDatasets>& open) {
  const hdf5::Library library;
  const hdf5::Dataset& dataset = open->get(where.path);
  const hdf5::Array array = checked_array(dataset, where);
  const auto bytes = num_elements(array.shape) * static_cast<std::int64_t>(size_of(*array.dtype));
  Storage storage = storage_of(dataset, array.shape.size());
  if (storage.chunk.empty()) check_size(dataset, where.name(), bytes);
  return std::make_unique<Hdf5Source>(where, array, context.keeps(bytes), std::move(storage), open);
}

Opener parse(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  const std::string dataset = keys.get("dataset", entry.field);
  FileNames files = files_of(entry, keys);
  keys.finish();
  return [files = std::move(files), dataset](const OpenContext& context) {
    const auto open = [&, datasets = std::make_shared<OpenDatasets>(dataset)](
                          const std::string& path, const OpenContext& each) {
      return open_hdf5({path, dataset}, each, datasets);
    };
    return open_files(files, open)(context);
  };
}

}  // namespace

const Format kHdf5{.name = "hdf5", .parse = parse, .has_rows = true};

}  // namespace meshwork::data

// HDF5. An entry is {file: cosmo.h5, dataset: universe/full}; `dataset` is the field's name unless
// given. A dataset that is kept (by default up to 1 GiB for all files, or `cache`) is read once; of
// another one just what is asked for is read, which may be a part of a sample.
#include <algorithm>
#include <list>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/names.h"
#include "base/nearest.h"
#include "data/formats/array_source.h"
#include "data/formats/concatenated.h"
#include "data/formats/gunzip.h"
#include "data/formats/hdf5_chunks.h"
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
  hdf5::Array array;
  hdf5::Storage storage;
  std::int64_t cached = 0;  ///< bytes that the library may keep of it
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

hdf5::Array checked_array(const hdf5::Dataset& dataset, const DatasetInFile& where) {
  hdf5::Array array = hdf5::describe(dataset, where.dataset, where.path);
  if (!array.dtype) {
    fail(ExitCode::kFile, "{}: holds {}", where.name(),
         array.is_text ? "texts, not numbers; store the number of each class"
                       : "values of a type of its own, not numbers; store arrays of these");
  }
  if (array.shape.empty()) {
    fail(ExitCode::kFile, "{}: a single number, not an array of samples", where.name());
  }
  checked_elements(where.name(), array.shape, size_of(*array.dtype));
  return array;
}

/// Why a name cannot be opened as a dataset.
std::string why_closed(const hdf5::File& file, const std::string& dataset) {
  if (H5Lexists(file, dataset.c_str(), H5P_DEFAULT) <= 0) {
    return fmt::format("has no dataset '{}'{}", dataset,
                       suggestion(dataset, neighbours(file, dataset)));
  }
  const hdf5::Object object(H5Oopen(file, dataset.c_str(), H5P_DEFAULT));
  if (object.is_open() && H5Iget_type(object) == H5I_GROUP) {
    return fmt::format("'{}' is a group, not a dataset{}", dataset,
                       suggestion(dataset, neighbours(file, dataset + "/")));
  }
  return fmt::format(
      "dataset '{}' cannot be opened: a link to nothing, or written in a way that is newer than "
      "HDF5 {}.{} (h5py.File(.., libver=('earliest', 'v110')) writes the older one)",
      dataset, H5_VERS_MAJOR, H5_VERS_MINOR);
}

unsigned long number_of_file(hid_t object) {  // NOLINT: as the library has it
  H5O_info_t info{};
  return H5Oget_info(object, &info) < 0 ? 0 : info.fileno;
}

OpenDataset open_dataset(const DatasetInFile& where) {
  refuse_gzip(where.path);
  hdf5::File file = hdf5::open_file(where.path, where.path);
  const auto open = [&](hid_t how) {
    return hdf5::Dataset(H5Dopen2(file, where.dataset.c_str(), how));
  };
  hdf5::Dataset dataset = open(H5P_DEFAULT);
  if (!dataset.is_open()) {
    fail(ExitCode::kFile, "{}: {}", where.path, why_closed(file, where.dataset));
  }
  if (number_of_file(dataset) != number_of_file(file)) {
    fail(ExitCode::kFile, "{}: '{}' lies in another file; name that one", where.path,
         where.dataset);
  }
  hdf5::Array array = checked_array(dataset, where);
  hdf5::Storage storage = hdf5::storage_of(dataset, array, where.name());
  const std::int64_t cache = hdf5::cache_for(storage);
  if (cache > 0) {
    const hdf5::Properties how(H5Pcreate(H5P_DATASET_ACCESS));
    H5Pset_chunk_cache(how, hdf5::kCacheSlots, static_cast<std::size_t>(cache),
                       H5D_CHUNK_CACHE_W0_DEFAULT);
    dataset.close();
    dataset = open(how);
  }
  return {where.path,       std::move(file),    std::move(dataset),
          std::move(array), std::move(storage), cache};
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
  const OpenDataset& get(const std::string& path) {
    const auto known = std::ranges::find(open_, path, &OpenDataset::path);
    if (known != open_.end()) {
      open_.splice(open_.begin(), open_, known);
    } else {
      open_.push_front(open_dataset({path, dataset_}));
      cached_ += open_.front().cached;
      while (open_.size() > kMost || (open_.size() > 1 && cached_ > hdf5::kMostCached)) {
        cached_ -= open_.back().cached;
        open_.pop_back();
      }
    }
    return open_.front();
  }

 private:
  static constexpr std::size_t kMost = 32;

  std::string dataset_;
  std::list<OpenDataset> open_;  ///< the one used last stands first
  std::int64_t cached_ = 0;      ///< of all of them
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

class Hdf5Source : public Source {
 public:
  Hdf5Source(DatasetInFile where, const OpenDataset& dataset, bool keeps,
             std::shared_ptr<OpenDatasets> open)
      : Source({where.name(), dataset.array.shape, *dataset.array.dtype}),
        where_(std::move(where)),
        keeps_(keeps),
        is_packed_(dataset.storage.is_packed),
        shares_chunks_(is_packed_ && dataset.storage.chunk.front() > 1),
        check_(dataset.storage, dataset.array.shape),
        open_(std::move(open)) {}

  bool is_resident() const override { return keeps_; }
  /// What is packed is unpacked in chunks, whatever part of one is wanted.
  bool decodes_samples() const override {
    constexpr std::int64_t kMostBytes = std::int64_t{1} << 24;
    return !keeps_ && is_packed_ &&
           bytes() / std::max<std::int64_t>(info().shape[0], 1) <= kMostBytes;
  }
  /// Those that lie in one chunk are best read one after the other.
  bool unpacks_files() const override { return !keeps_ && shares_chunks_; }
  std::string_view unpacking_advice() const override {
    return "the chunks of its samples again; keep all with dataset.cache=true, or store one sample "
           "in a chunk";
  }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    const hdf5::Library library;
    Shape local;
    while (count > 0) {
      const Region part = rectangle_at(info().shape, begin, count, local);
      const hdf5::Dataset& dataset = open_->get(where_.path).dataset;
      check_.check(dataset, part.offset, local, info().name);
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
  bool is_packed_;
  bool shares_chunks_;              ///< packed ones, of several samples
  mutable hdf5::ChunkCheck check_;  ///< used in the library
  std::shared_ptr<OpenDatasets> open_;
};

/// Of a dataset that lies in its file as a whole.
void check_size(const hdf5::Dataset& dataset, const std::string& name, std::int64_t bytes) {
  const auto stored = static_cast<std::int64_t>(H5Dget_storage_size(dataset));
  if (stored >= bytes) return;
  fail(ExitCode::kFile, "{}: {} bytes of {} are stored; write the rest of it", name, stored, bytes);
}

std::unique_ptr<Source> open_hdf5(const DatasetInFile& where, const OpenContext& context,
                                  const std::shared_ptr<OpenDatasets>& open) {
  const hdf5::Library library;
  const OpenDataset& dataset = open->get(where.path);
  const hdf5::Array& array = dataset.array;
  const auto bytes = num_elements(array.shape) * static_cast<std::int64_t>(size_of(*array.dtype));
  if (dataset.storage.chunk.empty()) check_size(dataset.dataset, where.name(), bytes);
  return std::make_unique<Hdf5Source>(where, dataset, context.keeps(bytes), open);
}

bool has_weights(const std::string& path) {
  const hdf5::Library library;
  const hdf5::File file = hdf5::open_file(path, path);
  return H5Lexists(file, names::kSampleWeight, H5P_DEFAULT) > 0;
}

Opener parse(const FieldEntry& entry) {
  config::Reader keys = keys_of(entry);
  const std::string dataset = keys.get("dataset", entry.field);
  FileNames files = files_of(entry, keys);
  keys.finish();
  return [files = std::move(files), dataset,
          overlooks = overlooks_weights(entry)](const OpenContext& context) {
    const auto open = [&, datasets = std::make_shared<OpenDatasets>(dataset)](
                          const std::string& path, const OpenContext& each) {
      auto source = open_hdf5({path, dataset}, each, datasets);
      if (overlooks && has_weights(path)) fail_for_weights(path, files.at);
      return source;
    };
    return open_files(files, open)(context);
  };
}

}  // namespace

const Format kHdf5{.name = "hdf5", .parse = parse, .takes_files = true};

}  // namespace meshwork::data

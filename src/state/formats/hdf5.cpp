// Keras 3's .weights.h5: tensors are datasets "<group>/vars/<number>", and the attribute "name" of
// "<group>/vars" is the name of the layer.
#include "state/formats/hdf5.h"

#include <hdf5.h>

#include <array>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "state/formats/hdf5_name.h"

namespace meshwork::formats {
namespace {

constexpr std::string_view kMagic("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kVariables = "/vars";
constexpr std::size_t kMaxDepth = 100;
constexpr std::size_t kMaxObjects = 1'000'000;

/// One thread at a time is in the library, which prints nothing meanwhile.
class Library {
 public:
  Library() : lock_(mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex mutex;  // one file may be written from another
    return mutex;
  }
  std::lock_guard<std::recursive_mutex> lock_;
};

using Close = herr_t (*)(hid_t);

/// An object of the library, closed at the end.
template <Close kClose>
class Handle {
 public:
  explicit Handle(hid_t id = H5I_INVALID_HID) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() { close(); }

  bool close() {
    const hid_t id = std::exchange(id_, H5I_INVALID_HID);
    return id < 0 || kClose(id) >= 0;
  }
  bool is_open() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT: as the library's functions take it

 private:
  hid_t id_;
};

using Attribute = Handle<H5Aclose>;
using Dataset = Handle<H5Dclose>;
using Hdf5File = Handle<H5Fclose>;
using Object = Handle<H5Oclose>;
using Properties = Handle<H5Pclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;

struct KnownType {
  DType dtype;
  H5T_class_t type_class;
  std::size_t bytes;
  bool is_signed;
};

constexpr std::array<KnownType, 11> kTypes{{
    {DType::kFloat32, H5T_FLOAT, 4, true},
    {DType::kFloat16, H5T_FLOAT, 2, true},
    {DType::kFloat64, H5T_FLOAT, 8, true},
    {DType::kInt8, H5T_INTEGER, 1, true},
    {DType::kInt16, H5T_INTEGER, 2, true},
    {DType::kInt32, H5T_INTEGER, 4, true},
    {DType::kInt64, H5T_INTEGER, 8, true},
    {DType::kUInt8, H5T_INTEGER, 1, false},
    {DType::kUInt16, H5T_INTEGER, 2, false},
    {DType::kUInt32, H5T_INTEGER, 4, false},
    {DType::kUInt64, H5T_INTEGER, 8, false},
}};

/// As the file has it: "F32"; another word where we have no such type.
std::string word_of(hid_t type) {
  const H5T_class_t type_class = H5Tget_class(type);
  for (const KnownType& known : kTypes) {
    if (type_class != known.type_class || H5Tget_size(type) != known.bytes) continue;
    const bool is_signed = type_class == H5T_FLOAT || H5Tget_sign(type) == H5T_SGN_2;
    if (is_signed == known.is_signed) return stored_dtype(known.dtype);
  }
  return type_class == H5T_STRING ? "string" : "other";
}

/// As programs have it, for numbers of which a file is written or read.
hid_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return H5T_NATIVE_FLOAT;
    case DType::kFloat64:
      return H5T_NATIVE_DOUBLE;
    case DType::kInt32:
      return H5T_NATIVE_INT32;
    case DType::kInt64:
      return H5T_NATIVE_INT64;
    case DType::kUInt8:
      return H5T_NATIVE_UINT8;
    default:
      fail(ExitCode::kFile, "{} is not kept in HDF5 files", to_string(dtype));
  }
}

std::vector<hsize_t> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Space space_of(const Shape& shape) {
  const std::vector<hsize_t> extents = extents_of(shape);
  return Space(shape.empty()
                   ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr));
}

/// What a group holds, in the order of the names.
struct Link {
  std::string name;
  bool is_hard = false;
};

herr_t add_link(hid_t /*group*/, const char* name, const H5L_info_t* info, void* links) noexcept {
  auto& list = *static_cast<std::vector<Link>*>(links);
  if (list.size() >= kMaxObjects) return -1;
  try {
    list.push_back({name, info->type == H5L_TYPE_HARD});
  } catch (...) {
    return -1;
  }
  return 0;
}

/// Of a .weights.h5: what the list of tensors is made of.
class Listing {
 public:
  /// `name` is what Errors call it.
  Listing(const std::string& file, std::string name)
      : bytes_(File::open(file)), file_(std::move(name)) {}

  void add_group(hid_t group, const std::string& path, std::size_t depth) {
    if (depth > kMaxDepth) damaged("'{}' is more than {} groups deep", path, kMaxDepth);
    std::vector<Link> links;
    if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_link, &links) < 0) {
      damaged("the group '{}' cannot be read", path);
    }
    for (const Link& link : links) {
      const std::string inner = path.empty() ? link.name : path + "/" + link.name;
      if (!link.is_hard) damaged("'{}' is a link to another place", inner);
      add_object(Object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT)), inner, depth + 1);
    }
  }

  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> names;

 private:
  template <class... Args>
  [[noreturn]] void damaged(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ExitCode::kFile, "{}: not a good HDF5 file: {}", file_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  void add_object(const Object& object, const std::string& path, std::size_t depth) {
    H5O_info_t info;
    if (!object.is_open() || H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) {
      damaged("'{}' cannot be read", path);
    }
    if (!known_.insert(info.addr).second) damaged("'{}' is there under another name, too", path);
    if (known_.size() > kMaxObjects) damaged("it has more than {} objects", kMaxObjects);
    if (info.type == H5O_TYPE_DATASET) return add_dataset(object, path);
    if (info.type != H5O_TYPE_GROUP) return;
    if (path.ends_with(kVariables)) {
      const std::string name = hdf5_name_of(bytes_, info.addr);
      if (!name.empty()) names[path.substr(0, path.size() - kVariables.size())] = name;
    }
    add_group(object, path, depth);
  }

  void add_dataset(hid_t dataset, const std::string& path) {
    const Properties how(H5Dget_create_plist(dataset));
    if (!how.is_open() || H5Pget_external_count(how) != 0 || H5Pget_layout(how) == H5D_VIRTUAL) {
      damaged("'{}' lies in another file", path);
    }
    const Space space(H5Dget_space(dataset));
    const Type type(H5Dget_type(dataset));
    const int rank = H5Sget_simple_extent_ndims(space);
    if (!type.is_open() || rank < 0 || H5Sget_simple_extent_type(space) == H5S_NULL) {
      damaged("'{}' has no shape", path);
    }
    std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
    H5Sget_simple_extent_dims(space, extents.data(), nullptr);
    StoredTensor tensor{path, word_of(type), {}};
    std::uint64_t elements = 1;
    for (const hsize_t extent : extents) {
      if (__builtin_mul_overflow(elements, extent, &elements) || elements > INT64_MAX / 16) {
        damaged("'{}' has more elements than can be", path);
      }
      tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    tensors.push_back(std::move(tensor));
  }

  File bytes_;
  std::string file_;
  std::set<haddr_t> known_;
};

Hdf5File open_file(const std::string& file, const std::string& name) {
  File::open(file);  // whether it is a file that can be read
  const Properties how(H5Pcreate(H5P_FILE_ACCESS));
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(how, false, true);
#endif
  Hdf5File opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, how));
  if (!opened.is_open()) {
    fail(ExitCode::kFile, "{}: not a good HDF5 file; is it cut off? write it again", name);
  }
  return opened;
}

class Tensors : public TensorFile {
 public:
  Tensors(const std::string& file, const std::string& name) : TensorFile(name) {
    const Library library;
    file_ = open_file(file, name);
    Listing listing(file, name);
    const Object root(H5Oopen(file_, "/", H5P_DEFAULT));
    listing.add_group(root, "", 0);
    names_ = std::move(listing.names);
    set_tensors(std::move(listing.tensors));
  }
  ~Tensors() override {
    const Library library;
    file_.close();
  }

  void read(const StoredTensor& tensor, const Region& region, const Shape& local,
            std::byte* to) const override {
    check_part({tensor.path, *dtype_of(tensor), tensor.shape}, region, local);
    if (num_elements(local) == 0) return;
    const Library library;
    const Dataset dataset(H5Dopen2(file_, tensor.path.c_str(), H5P_DEFAULT));
    const Space stored(H5Dget_space(dataset));
    const Space wanted = space_of(local);
    const std::vector<hsize_t> begin = extents_of(region.offset), count = extents_of(local);
    const bool is_selected =
        local.empty() || H5Sselect_hyperslab(stored, H5S_SELECT_SET, begin.data(), nullptr,
                                             count.data(), nullptr) >= 0;
    if (!is_selected ||
        H5Dread(dataset, type_of(*dtype_of(tensor)), wanted, stored, H5P_DEFAULT, to) < 0) {
      fail(ExitCode::kFile, "{}: '{}' cannot be read; is the file cut off? write it again", name(),
           tensor.path);
    }
  }

 private:
  Hdf5File file_;
};

bool set_name(hid_t group, const std::string& name) {
  const Type type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  const Space space = space_of({});
  const Attribute attribute(H5Acreate2(group, "name", type, space, H5P_DEFAULT, H5P_DEFAULT));
  const char* text = name.c_str();
  return H5Awrite(attribute, type, static_cast<const void*>(&text)) >= 0;
}

/// False where the library does not say why: most often the disk is full.
bool write_all(hid_t file, const TensorsToWrite& what) {
  const Properties groups(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(groups, 1);
  const Properties datasets(H5Pcreate(H5P_DATASET_CREATE));
  H5Pset_obj_track_times(datasets, false);
  for (const auto& [group, name] : what.names) {
    const std::string path = group + std::string(kVariables);
    const Object made(H5Gcreate2(file, path.c_str(), groups, H5P_DEFAULT, H5P_DEFAULT));
    if (!made.is_open()) return false;
    if (!set_name(made, name)) return false;
  }
  std::vector<std::byte> data;
  for (std::size_t i = 0; i < what.tensors.size(); ++i) {
    const GlobalTensor& tensor = what.tensors[i];
    data.resize(std::max<std::size_t>(1, bytes_of(tensor)));
    what.read(i, data.data());
    const hid_t type = type_of(tensor.dtype);
    const Space space = space_of(tensor.shape);
    Dataset made(H5Dcreate2(file, tensor.path.c_str(), type, space, groups, datasets, H5P_DEFAULT));
    if (!made.is_open() || H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()) < 0 ||
        !made.close()) {
      return false;
    }
  }
  return true;
}

void write(const std::string& file, const TensorsToWrite& what) {
  write_in_one_step(file, [&](const std::string& partial) {
    File::create(partial).close();  // says why it cannot be done
    const Library library;
    Hdf5File out(H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    const bool is_written = out.is_open() && write_all(out, what);
    if (!out.close() || !is_written) {
      fail(ExitCode::kFile, "{}: cannot write; is the disk full?", partial);
    }
  });
}

}  // namespace

std::unique_ptr<TensorFile> open_hdf5(const std::string& file, const std::string& name) {
  return std::make_unique<Tensors>(file, name);
}

const Format kHdf5{.name = "keras",
                   .suffixes = {".weights.h5", ".h5", ".hdf5"},
                   .naming = Naming::kKeras,
                   .recognizes = [](const std::string& /*file*/,
                                    std::string_view head) { return head.starts_with(kMagic); },
                   .open = [](const std::string& file) -> std::unique_ptr<TensorFile> {
                     return open_hdf5(file, file);
                   },
                   .write = write};

}  // namespace meshwork::formats

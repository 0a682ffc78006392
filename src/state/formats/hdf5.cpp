// Keras 3's .weights.h5: tensors are datasets "<group>/vars/<number>", and the attribute "name" of
// "<group>/vars" is the name of the layer.
#include "state/formats/hdf5.h"

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "data/formats/hdf5_library.h"
#include "state/formats/hdf5_name.h"

namespace meshwork::formats {
namespace {

constexpr std::string_view kMagic("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kVariables = "/vars";
constexpr std::size_t kMaxDepth = 100;

using namespace data::hdf5;

/// As the file has it: "F32"; another word where we have no such type.
std::string word_of(const Array& array) {
  if (array.dtype) return stored_dtype(*array.dtype);
  return array.is_text ? "string" : "other";
}

/// Of a .weights.h5: what the list of tensors is made of.
class Listing {
 public:
  /// `name` is what Errors call it.
  Listing(const std::string& file, std::string name)
      : bytes_(meshwork::File::open(file)), file_(std::move(name)) {}

  void add_group(hid_t group, const std::string& path, std::size_t depth) {
    if (depth > kMaxDepth) fail_damaged(file_, "'{}' is more than {} groups deep", path, kMaxDepth);
    const auto links = links_of(group);
    if (!links) fail_damaged(file_, "the group '{}' cannot be read", path);
    for (const Link& link : *links) {
      const std::string inner = path.empty() ? link.name : path + "/" + link.name;
      if (!link.is_hard) fail_damaged(file_, "'{}' is a link to another place", inner);
      add_object(Object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT)), inner, depth + 1);
    }
  }

  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> names;

 private:
  void add_object(const Object& object, const std::string& path, std::size_t depth) {
    H5O_info_t info;
    if (!object.is_open() || H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) {
      fail_damaged(file_, "'{}' cannot be read", path);
    }
    if (!known_.insert(info.addr).second)
      fail_damaged(file_, "'{}' is there under another name, too", path);
    if (known_.size() > kMaxObjects)
      fail_damaged(file_, "it has more than {} objects", kMaxObjects);
    if (info.type == H5O_TYPE_DATASET) return add_dataset(object, path);
    if (info.type != H5O_TYPE_GROUP) return;
    if (path.ends_with(kVariables)) {
      const std::string name = hdf5_name_of(bytes_, info.addr);
      if (!name.empty()) names[path.substr(0, path.size() - kVariables.size())] = name;
    }
    add_group(object, path, depth);
  }

  void add_dataset(hid_t dataset, const std::string& path) {
    Array array = describe(dataset, path, file_);
    std::string word = word_of(array);
    tensors.push_back({path, std::move(word), std::move(array.shape)});
  }

  meshwork::File bytes_;
  std::string file_;
  std::set<haddr_t> known_;
};

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
    if (!read_part(dataset, *dtype_of(tensor), region.offset, local, to)) {
      fail(ExitCode::kFile, "{}: '{}' cannot be read; is the file cut off? write it again", name(),
           tensor.path);
    }
  }

 private:
  data::hdf5::File file_;
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
    const Type type = native_type(tensor.dtype);
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
    meshwork::File::create(partial).close();  // says why it cannot be done
    const Library library;
    data::hdf5::File out(H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
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

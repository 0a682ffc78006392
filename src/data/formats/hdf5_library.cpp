#include "data/formats/hdf5_library.h"

#include <array>

#include "base/error.h"
#include "base/file.h"
#include "base/fitting_product.h"

namespace meshwork::data::hdf5 {
namespace {

std::recursive_mutex& library_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

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

std::optional<DType> dtype_of(hid_t type) {
  const H5T_class_t type_class = H5Tget_class(type);
  for (const KnownType& known : kTypes) {
    if (type_class != known.type_class || H5Tget_size(type) != known.bytes) continue;
    const bool is_signed = type_class == H5T_FLOAT || H5Tget_sign(type) == H5T_SGN_2;
    if (is_signed == known.is_signed) return known.dtype;
  }
  return std::nullopt;
}

/// numpy's bool is an enumeration.
std::optional<DType> dtype_of_numbers(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM) return dtype_of(type);
  const Type base(H5Tget_super(type));
  return dtype_of(base);
}

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

std::vector<hsize_t> extents_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// The library has no type for it.
Type half_float() {
  Type type(H5Tcopy(H5T_IEEE_F32LE));
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  return type;
}

}  // namespace

Library::Library() : lock_(library_mutex()) { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

File open_file(const std::string& path, const std::string& name) {
  meshwork::File::open(path);  // says why it cannot be read
  const Properties how(H5Pcreate(H5P_FILE_ACCESS));
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(how, false, true);
#endif
  File opened(H5Fopen(path.c_str(), H5F_ACC_RDONLY, how));
  if (!opened.is_open()) {
    fail(ExitCode::kFile, "{}: not a good HDF5 file; is it cut off? write it again", name);
  }
  return opened;
}

std::optional<std::vector<Link>> links_of(hid_t group) {
  std::vector<Link> links;
  if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, add_link, &links) < 0) return {};
  return links;
}

Array describe(hid_t dataset, const std::string& path, const std::string& file) {
  const Properties how(H5Dget_create_plist(dataset));
  if (!how.is_open() || H5Pget_external_count(how) != 0 || H5Pget_layout(how) == H5D_VIRTUAL) {
    fail_damaged(file, "'{}' lies in another file", path);
  }
  const Space space(H5Dget_space(dataset));
  const Type type(H5Dget_type(dataset));
  const int rank = H5Sget_simple_extent_ndims(space);
  if (!type.is_open() || rank < 0 || H5Sget_simple_extent_type(space) == H5S_NULL) {
    fail_damaged(file, "'{}' has no shape", path);
  }
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  Array array{
      .shape = {}, .dtype = dtype_of_numbers(type), .is_text = H5Tget_class(type) == H5T_STRING};
  array.shape.assign(extents.begin(), extents.end());  // what 63 bits do not hold is negative
  if (!fitting_product(array.shape, sizeof(double))) {
    fail_damaged(file, "'{}' has more elements than can be", path);
  }
  return array;
}

bool read_part(hid_t dataset, DType dtype, const Shape& offset, const Shape& local, std::byte* to) {
  const Space stored(H5Dget_space(dataset));
  const Space wanted = space_of(local);
  const std::vector<hsize_t> begin = extents_of(offset), count = extents_of(local);
  const bool is_selected =
      local.empty() || H5Sselect_hyperslab(stored, H5S_SELECT_SET, begin.data(), nullptr,
                                           count.data(), nullptr) >= 0;
  return is_selected && H5Dread(dataset, native_type(dtype), wanted, stored, H5P_DEFAULT, to) >= 0;
}

Type native_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return half_float();
    case DType::kFloat32:
      return Type(H5Tcopy(H5T_NATIVE_FLOAT));
    case DType::kFloat64:
      return Type(H5Tcopy(H5T_NATIVE_DOUBLE));
    case DType::kInt8:
      return Type(H5Tcopy(H5T_NATIVE_INT8));
    case DType::kInt16:
      return Type(H5Tcopy(H5T_NATIVE_INT16));
    case DType::kInt32:
      return Type(H5Tcopy(H5T_NATIVE_INT32));
    case DType::kInt64:
      return Type(H5Tcopy(H5T_NATIVE_INT64));
    case DType::kUInt8:
      return Type(H5Tcopy(H5T_NATIVE_UINT8));
    case DType::kUInt16:
      return Type(H5Tcopy(H5T_NATIVE_UINT16));
    case DType::kUInt32:
      return Type(H5Tcopy(H5T_NATIVE_UINT32));
    case DType::kUInt64:
      return Type(H5Tcopy(H5T_NATIVE_UINT64));
    case DType::kBFloat16:
      break;
  }
  fail(ExitCode::kFile, "{} is not kept in HDF5 files", to_string(dtype));
}

Space space_of(const Shape& shape) {
  const std::vector<hsize_t> extents = extents_of(shape);
  return Space(shape.empty()
                   ? H5Screate(H5S_SCALAR)
                   : H5Screate_simple(static_cast<int>(shape.size()), extents.data(), nullptr));
}

}  // namespace meshwork::data::hdf5

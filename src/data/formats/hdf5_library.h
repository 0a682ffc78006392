#pragma once

// The interface of HDF5 1.10, which later releases offer beside their own.
#define H5_USE_110_API
#include <hdf5.h>

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "base/shape.h"

/// The library HDF5: its objects as C++ has them, and what is asked of files before they are read.
namespace meshwork::data::hdf5 {

/// One thread at a time is in the library, which prints nothing meanwhile. Whoever calls it, or
/// closes one of its objects, holds this.
class Library {
 public:
  Library();

 private:
  std::lock_guard<std::recursive_mutex> lock_;  // one file may be written from another
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
using File = Handle<H5Fclose>;
using Object = Handle<H5Oclose>;
using Properties = Handle<H5Pclose>;
using Space = Handle<H5Sclose>;
using Type = Handle<H5Tclose>;

/// Throws Error with ExitCode::kFile: "w.h5: not a good HDF5 file: 'a/b' has no shape".
template <class... Args>
[[noreturn]] void fail_damaged(const std::string& file, fmt::format_string<Args...> format,
                               Args&&... args) {
  fail(ExitCode::kFile, "{}: not a good HDF5 file: {}", file,
       fmt::format(format, std::forward<Args>(args)...));
}

/// Opens a file to read it. Errors, of ExitCode::kFile, call it `name`.
File open_file(const std::string& path, const std::string& name);

/// What a group holds, in the order of the names.
struct Link {
  std::string name;
  bool is_hard = false;  ///< no link to another place
};
constexpr std::size_t kMaxObjects = 1'000'000;
/// nullopt where the group cannot be read, or holds more than kMaxObjects.
std::optional<std::vector<Link>> links_of(hid_t group);

/// A dataset that can be read.
struct Array {
  Shape shape;
  std::optional<DType> dtype;  ///< nullopt: not numbers of ours
  bool is_text = false;
};
/// Throws Error for what lies in another file, or has no shape or too many elements.
Array describe(hid_t dataset, const std::string& path, const std::string& file);

/// The part [offset, offset + local) of a dataset whose numbers are of this type, or are turned
/// into it. False if it cannot be read.
bool read_part(hid_t dataset, DType dtype, const Shape& offset, const Shape& local, std::byte* to);

/// As programs have it. Throws Error for what HDF5 files do not have.
Type native_type(DType dtype);

Space space_of(const Shape& shape);

}  // namespace meshwork::data::hdf5

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shape.h"
#include "data/dataset.h"
#include "data/loader.h"

namespace meshwork::test {

/// A folder that goes away with all it holds.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
};

std::string read_file(const std::string& path);
std::string gzip(const std::string& bytes);

/// Bytes of the objects behind numbers, in the machine's order or reversed.
template <class T>
std::string bytes_of(const std::vector<T>& values, bool reversed = false) {
  std::string bytes;
  for (const T& value : values) {
    const auto* raw = reinterpret_cast<const char*>(&value);
    std::string one(raw, sizeof(T));
    if (reversed) one.assign(one.rbegin(), one.rend());
    bytes += one;
  }
  return bytes;
}

/// An IDX file of type code `type` (0x08: uint8).
std::string idx(int type, const std::vector<std::int32_t>& shape, const std::string& payload);

/// A .npy file with this dict in its header.
std::string npy(const std::string& dict, const std::string& payload, int version = 1);
std::string npy_dict(const std::string& descr, const std::string& shape);

/// Writes a zip archive of named entries.
void write_zip(const std::string& path,
               const std::vector<std::pair<std::string, std::string>>& entries, bool deflate);

/// A dataset from the text of a description that stands in `directory`/d.yaml.
data::Dataset dataset(const TempDir& directory, const std::string& text, std::uint64_t seed = 1);

/// All of a field of all samples of the split.
std::vector<float> floats(const data::Split& split, const std::string& field);
std::vector<std::int32_t> ints(const data::Split& split, const std::string& field);

/// The message of the Error that `f` throws, which must have this code; "" if it throws none.
std::string error_of(const std::function<void()>& f, ExitCode code = ExitCode::kFile);

/// The same of the description of a dataset that is opened and described, and of whose training
/// split `read` reads.
std::string reading_error(const TempDir& directory, const std::string& description,
                          const std::function<void(const data::Split&)>& read,
                          ExitCode code = ExitCode::kFile);

bool contains(const std::string& text, const std::string& part);

/// The whole of every field. `augment` as the loader's.
data::PartOf whole_parts(const data::Split& split, bool augment = false);

}  // namespace meshwork::test

#include "support/npz.h"

#include <zip.h>

#include <map>
#include <memory>
#include <mutex>

#include "base/check.h"
#include "base/conversion.h"
#include "base/error.h"
#include "data/formats/npy_header.h"

namespace meshwork {
namespace {

/// An archive that stays open: some tests read thousands of arrays from one.
class Archive {
 public:
  explicit Archive(const std::string& file)
      : file_(file), archive_(zip_open(file.c_str(), ZIP_RDONLY, nullptr), zip_discard) {
    if (!archive_) fail(ExitCode::kFile, "{}: cannot open", file);
  }

  std::vector<std::string> names(const std::string& prefix) const {
    std::vector<std::string> names;
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive_.get(), 0); ++i) {
      std::string name = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
      name.resize(name.size() - 4);  // ".npy"
      if (name.starts_with(prefix)) names.push_back(name);
    }
    return names;
  }

  std::vector<std::byte> read(const std::string& array) const {
    const std::string name = array + ".npy";
    zip_stat_t status;
    if (zip_stat(archive_.get(), name.c_str(), 0, &status) != 0) {
      fail(ExitCode::kFile, "{}: has no array '{}'", file_, array);
    }
    std::vector<std::byte> bytes(status.size);
    zip_file_t* entry = zip_fopen(archive_.get(), name.c_str(), 0);
    MW_CHECK(entry != nullptr, "{}: array '{}'", file_, array);
    const zip_int64_t got = zip_fread(entry, bytes.data(), bytes.size());
    zip_fclose(entry);
    MW_CHECK(got == std::ssize(bytes), "{}: array '{}'", file_, array);
    return bytes;
  }

 private:
  std::string file_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_;
};

const Archive& archive_of(const std::string& file) {
  static std::map<std::string, Archive> archives;
  return archives.try_emplace(file, file).first->second;
}

std::mutex& mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

HostTensor read_npz(const std::string& file, const std::string& array) {
  const std::lock_guard lock(mutex());
  const std::vector<std::byte> bytes = archive_of(file).read(array);
  const data::ArrayHeader header = data::parse_npy_header(file + ": array '" + array + "'", bytes);
  const DType stored = header.element.type;
  const DType dtype = is_floating(stored) ? DType::kFloat32 : DType::kInt32;
  HostTensor tensor = host_tensor({dtype, header.shape});
  const std::int64_t elements = num_elements(header.shape);
  const auto converted = convert_elements(bytes.data() + header.offset, stored, elements,
                                          {.dtype = dtype}, tensor.bytes.data());
  MW_CHECK(converted == elements, "{}: array '{}'", file, array);
  return tensor;
}

std::vector<std::string> npz_names(const std::string& file, const std::string& prefix) {
  const std::lock_guard lock(mutex());
  return archive_of(file).names(prefix);
}

}  // namespace meshwork

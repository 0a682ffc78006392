// Keras 3's .keras: a zip archive of config.json, metadata.json and model.weights.h5. Its weights
// are read; what the model looks like, the configuration says.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/unfinished_file.h"
#include "base/version.h"
#include "state/formats/hdf5.h"
#include "state/formats/open_zip.h"

namespace meshwork::formats {
namespace {

constexpr const char* kWeights = "model.weights.h5";
constexpr std::string_view kSuffix = ".keras";

/// A new file in the folder for such.
UnfinishedFile temporary_file() {
  std::error_code code;
  std::string path = (std::filesystem::temp_directory_path(code) / "meshwork.XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  if (fd < 0) fail(ExitCode::kFile, "{}: cannot create; set TMPDIR", path);
  ::close(fd);
  return UnfinishedFile(path);
}

void unpack(const data::ZipArchive& archive, std::size_t entry, const std::string& to) {
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  data::ZipEntry packed = archive.open(entry);
  File file = File::open_to_write(to);
  std::vector<std::byte> piece(kBytes);
  std::uint64_t at = 0;
  while (const std::size_t got = packed.read(piece.data(), piece.size())) {
    file.write_at(piece.data(), got, at);
    at += got;
  }
  file.close();
}

/// HDF5 wants a file of its own: each device unpacks one, which nobody else sees.
std::unique_ptr<TensorFile> open(const std::string& file) {
  const data::ZipArchive archive = open_zip(file);
  const std::optional<std::size_t> entry = archive.find(kWeights);
  if (!entry) {
    fail(ExitCode::kFile, "{}: has no {}; save it again: model.save('name.keras')", file, kWeights);
  }
  archive.size(*entry);
  const UnfinishedFile unpacked = temporary_file();
  unpack(archive, *entry, unpacked.path());
  return open_hdf5(unpacked.path(), file);
}

void write(const std::string& file, const TensorsToWrite& what) {
  const auto text = [](std::string bytes) { return [bytes = std::move(bytes)] { return bytes; }; };
  const std::string metadata =
      fmt::format(R"({{"keras_version": "3.0.0", "written_by": "Meshwork {}"}})", kVersion);
  write_in_one_step(file, [&](const std::string& partial) {
    const UnfinishedFile weights(partial_name(file));
    kHdf5.write(weights.path(), what);
    data::write_zip(partial, {{"metadata.json", text(metadata)},
                              {"config.json", text(what.model)},
                              {kWeights, nullptr, weights.path()}});
  });
}

bool recognizes(const std::string& file, std::string_view head) {
  if (!head.starts_with(data::kZipMagic)) return false;
  return file.ends_with(kSuffix) || open_zip(file).find(kWeights).has_value();
}

}  // namespace

const Format kKeras{.name = "keras-archive",
                    .suffixes = {kSuffix},
                    .naming = Naming::kKeras,
                    .recognizes = recognizes,
                    .open = open,
                    .write = write,
                    .has_model = true};

}  // namespace meshwork::formats

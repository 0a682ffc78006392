#include "interchange/from_keras/read.h"

#include "base/file.h"
#include "base/json.h"
#include "state/formats/open_zip.h"

namespace meshwork::from_keras {
namespace {

constexpr const char* kModel = "config.json";
constexpr std::string_view kHdf5Magic = "\x89HDF";
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28U;  // what no description of a model has

std::string text_of(const std::string& file) {
  const File opened = File::open(file);
  std::string head(std::min<std::uint64_t>(opened.size(), data::kZipMagic.size()), '\0');
  opened.read_at(head.data(), head.size(), 0);
  if (head == kHdf5Magic) {
    fail(ExitCode::kFile,
         "{}: an HDF5 file, of which --from reads the weights; the layers are read of what Keras 3 "
         "saves: load_model(..).save('name.keras')",
         file);
  }
  if (head != data::kZipMagic) return read_text_file(file);
  const data::ZipArchive archive = formats::open_zip(file);
  const std::optional<std::size_t> entry = archive.find(kModel);
  if (!entry) {
    fail(ExitCode::kFile, "{}: has no {}; save the model again: model.save('name.keras')", file,
         kModel);
  }
  const std::uint64_t bytes = archive.size(*entry);
  if (bytes > kMostBytes) {
    fail(ExitCode::kFile, "{}: {} has {} bytes, more than a model that is read, {}", file, kModel,
         bytes, kMostBytes);
  }
  std::string text(bytes, '\0');
  archive.open(*entry).read_all(text.data(), text.size());
  return text;
}

}  // namespace

Json read_model(const std::string& file) {
  return parse_strict_json<Json>(text_of(file), file, "the description of the model");
}

}  // namespace meshwork::from_keras

#include "state/formats/open_zip.h"

#include "base/file.h"

namespace meshwork::formats {
namespace {

constexpr data::ZipWords kWords{
    .cannot_open = "not a good zip archive: {}; write the file again",
    .entry = "'{}'",
    .advice = "write the file again",
};

}  // namespace

data::ZipArchive open_zip(const std::string& file) {
  File::open(file);  // a named pipe would make libzip wait
  return {file, kWords};
}

}  // namespace meshwork::formats

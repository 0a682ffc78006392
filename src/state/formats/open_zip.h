#pragma once

#include <string>

#include "data/formats/zip_archive.h"

namespace meshwork::formats {

/// Opens a zip archive of weights. Errors advise to write the file again.
data::ZipArchive open_zip(const std::string& file);

}  // namespace meshwork::formats

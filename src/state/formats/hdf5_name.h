#pragma once

#include <cstdint>
#include <string>

#include "base/file.h"

namespace meshwork::formats {

/// The attribute "name", a text, of the object of an HDF5 file whose header lies at this byte; ""
/// where it has none, or keeps it otherwise than Keras does. libhdf5 reads texts of variable length
/// past the end of its memory where a file is damaged; this stays within the file.
std::string hdf5_name_of(const File& file, std::uint64_t header);

}  // namespace meshwork::formats

#pragma once

#include <memory>
#include <string>

#include "state/formats/format.h"

namespace meshwork::formats {

/// Opens an HDF5 file that Errors call `name`.
std::unique_ptr<TensorFile> open_hdf5(const std::string& file, const std::string& name);

}  // namespace meshwork::formats

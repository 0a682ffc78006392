#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/formats/source.h"

namespace meshwork::data {

/// The samples of several arrays, one after the other. Throws Error with ExitCode::kFile if their
/// samples have different shapes. One array is given back as it is.
std::unique_ptr<Source> concatenated(std::vector<std::unique_ptr<Source>> parts);

/// Opens one of the files of an array.
using FileOpener =
    std::function<std::unique_ptr<Source>(const std::string& path, const OpenContext& context)>;

/// An opener that finds the files in their order, opens each, and puts the samples together.
Opener open_files(FileNames files, FileOpener open_file);

}  // namespace meshwork::data

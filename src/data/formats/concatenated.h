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

/// What several files are called together: "a.npy and 2 more".
std::string name_of_all(const std::string& first, std::size_t count);

/// Opens one of the files of an array.
using FileOpener =
    std::function<std::unique_ptr<Source>(const std::string& path, const OpenContext& context)>;

/// The paths of the files in their order.
std::vector<std::string> paths_of(const FileNames& files, const OpenContext& context);

/// Finds the files, opens each, and puts the samples together.
std::unique_ptr<Source> open_all(const FileNames& files, const FileOpener& open_file,
                                 const OpenContext& context);

/// An opener that does so.
Opener open_files(FileNames files, FileOpener open_file);

}  // namespace meshwork::data

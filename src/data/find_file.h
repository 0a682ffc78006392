#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "config/value.h"

namespace meshwork::data {

/// What find_file and its like throw: an Error of ExitCode::kFile for data that are not there.
class MissingData : public Error {
 public:
  explicit MissingData(const std::string& message) : Error(ExitCode::kFile, message) {}
};

/// Where the files of a dataset are looked for, in this order: `$MESHWORK_DATA/<name>/`, the
/// folder of the description, and `listed`, of which relative ones start at the folder of the
/// description and `$NAME` at the start stands for that environment variable. A place whose
/// variable is not set is left out.
std::vector<std::string> search_directories(const std::string& name, const std::string& folder,
                                            const std::vector<std::string>& listed);

/// The path of `file` in the first directory that has it, unpacked or as `.gz`, whichever way it
/// is named; an absolute path is looked for only there. Throws MissingData, which begins with `at`,
/// lists the places and ends with `hint` (which may be empty).
std::string find_file(const std::string& file, const std::vector<std::string>& directories,
                      const config::Location& at, const std::string& hint);

/// The paths of all files of the first directory that has any whose names fit `pattern`, unpacked
/// or as `.gz`, in the order of their names as bytes: "part-*.npz", "data_batch_[1-5].bin",
/// "*/x.npy". A name without
/// `*`, `?` and `[`, or one under which a file exists, is that file. Errors as of find_file.
std::vector<std::string> find_files(const std::string& pattern,
                                    const std::vector<std::string>& directories,
                                    const config::Location& at, const std::string& hint);

/// The path of the folder `name` in the first directory that has it. Errors as of find_file.
std::string find_folder(const std::string& name, const std::vector<std::string>& directories,
                        const config::Location& at, const std::string& hint);

}  // namespace meshwork::data

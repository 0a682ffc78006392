#pragma once

#include <string>

#include "job/job.h"

namespace meshwork {

constexpr const char* kNamesFile = "names.json";

/// Writes what the numbers of the data are of, columns and classes by field, to names.json in the
/// directory of a run; takes away that of an earlier run where nothing says it.
void write_names(const data::Split& split, const std::string& directory);

/// Throws an Error of ExitCode::kFile where weights, a file or a checkpoint in the directory of a
/// run, were trained on other columns or classes, or in another order. Weights that have no
/// names.json beside them pass, and so do fields of which nothing says it.
void check_same_names(const data::Split& split, const std::string& weights);

}  // namespace meshwork

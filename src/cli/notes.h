#pragma once

#include <string>
#include <vector>

#include "job/job.h"

namespace meshwork::cli {

/// What the compiler has to say about the programs of a job, each note once, and what would make
/// reading its data faster.
std::vector<std::string> notes_of(const Job& job);

/// Prints them to stderr: "meshwork: note: ..", from rank 0 alone.
void print_notes(const Job& job);

}  // namespace meshwork::cli

#pragma once

#include <functional>
#include <string_view>

#include "graph/graph.h"

/// Reads the text forms of programs, for tests alone: the program only prints them.
namespace meshwork::testing {

/// Gives the op of a name, nullptr where there is none.
using LookUpOp = std::function<const OpDef*(std::string_view)>;
/// Is given what stands after ';'.
using ReadAnnotation = std::function<void(ValueId, std::string_view)>;

/// The inverse of print; blank lines and lines that begin with '#' are passed over. Throws an Error
/// with the number of the line. Types are taken as they stand: verify() compares them with the ops.
Graph parse(std::string_view text, const LookUpOp& lookup, const ReadAnnotation& annotation = {});

}  // namespace meshwork::testing

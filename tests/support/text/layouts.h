#pragma once

#include <string>
#include <string_view>

#include "spmd/partition.h"
#include "support/text/parse.h"

namespace meshwork::testing {

/// The inverses of to_string and print. Errors are those of parse().
Layout parse_layout(const std::string& text, const Mesh& mesh);
LaidOut parse_laid_out(std::string_view text, const Mesh& mesh, const LookUpOp& lookup);
Partitioned parse_partitioned(std::string_view text, const Mesh& mesh, const LookUpOp& lookup);

}  // namespace meshwork::testing

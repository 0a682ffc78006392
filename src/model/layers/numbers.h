#pragma once

#include <string>
#include <vector>

#include "config/value.h"
#include "graph/builder.h"

namespace meshwork::layers {

/// Numbers that stand in an argument: one, of shape [], or a list of them, or of such lists.
struct Numbers {
  std::vector<double> all;  ///< row-major
  Shape shape;
};

/// Throws a configuration Error for lists of unequal lengths, and for more than 4096 numbers.
Numbers read_numbers(const config::Reader& args, std::string_view key, const config::Value& given);

/// As constants of the program, in their shape and the dtype of `x`.
ValueId constants(GraphBuilder& b, const Numbers& numbers, ValueId x);

}  // namespace meshwork::layers

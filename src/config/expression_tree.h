#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// An expression, parsed. `op` is an operator ("+", "and", "if", "negate"), "list[]", "len",
/// "name" or "literal"; the parts are its operands in the order in which they are written.
struct Expression {
  std::string op;
  std::vector<Expression> parts;
  std::string name;  ///< of a parameter
  Value literal;
};

/// Throws Error, "expression '2 * ': ..." at `at`, for text that is none.
Expression parse_expression(std::string_view text, const Location& at);

}  // namespace meshwork::config

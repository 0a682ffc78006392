#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

enum class Operator {
  kLiteral,
  kName,
  kConditional,  ///< a if b else c
  kNot,
  kNegate,
  kLength,
  // Of two parts:
  kOr,
  kAnd,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kElement,  ///< a[b]
};

/// An expression, parsed. The parts are the operands in the order in which they are written.
struct Expression {
  Operator op = Operator::kLiteral;
  std::vector<Expression> parts;
  std::string name;  ///< of a parameter
  Value literal;
};

/// Throws Error, "expression '2 * ': ..." at `at`, for text that is none.
Expression parse_expression(std::string_view text, const Location& at);

}  // namespace meshwork::config

#pragma once

#include <string_view>

#include "config/parameters.h"

namespace meshwork::config {

/// The value of an expression over parameters, in Python's notation:
///   numbers, 'words', true, false, null, parameters, list[index], len(list)
///   or  and  not  == != < <= > >=  + -  * / // %  -x  **  ( )  a if condition else b
/// Integers stay integers and may not overflow; `/` divides exactly (8 / 4 is 2, 7 / 2 is 3.5),
/// `//` rounds down, `%` goes with it. Only the branch that is taken is computed. A mistake is an
/// Error at `at`.
Value evaluate(std::string_view expression, const Parameters& parameters, const Location& at);

/// Whether `word` has a meaning of its own in expressions.
bool is_expression_word(std::string_view word);

}  // namespace meshwork::config

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"

namespace meshwork::config {

/// What `$name` stands for in the layers of a model or a block.
using Parameters = std::map<std::string, Value, std::less<>>;

/// Replaces parameters in every key and scalar, however deep:
///   $filters          the parameter: a number, a word, a list, anything
///   $(filters * 2)    an expression (expression.h)
///   stage_$index      within a word: its text
///   $$                a dollar sign
/// What is not known, or is no text within a word, is an Error at the place of the word. The result
/// stands where the word stood.
Value substitute(const Value& value, const Parameters& parameters);

/// Numbers of values and letters in a value.
std::size_t size_of(const Value& value);

/// An Error unless `name` may be a parameter: letters, digits and _, no digit first, and no word
/// with a meaning of its own in expressions.
void check_parameter_name(std::string_view name, const Location& at, std::string_view what);

}  // namespace meshwork::config

#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/value.h"
#include "interchange/keras_json.h"

namespace meshwork::from_keras {

/// A whole number. Throws the library's exception for everything else, real numbers included.
inline std::int64_t whole(const Json& number) {
  return number.get_ref<const Json::number_integer_t&>();
}

/// An object that Keras makes from a class and its arguments.
bool is_object(const Json& json);

/// The package of a class that is not Keras's own; "" of one that is.
std::string foreign_package(const Json& object);

/// What Keras has written as YAML has it. An object becomes the word of its class, or a map with
/// its arguments, without those that are null, and without its name and dtype.
config::Value value_of(const Json& json);

/// The arguments of an object, but those that are null and `left_out`.
config::Value arguments_of(const Json& object, const std::set<std::string_view>& left_out);

/// A word that YAML does not take for anything else, and a list of such.
config::Value word(const std::string& text);
config::Value words(const std::vector<std::string>& texts);

}  // namespace meshwork::from_keras

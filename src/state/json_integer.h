#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace meshwork {

/// A whole number of 64 bits. Throws the library's exception for everything else, real numbers
/// included, which the library would convert.
inline std::int64_t integer_of(const nlohmann::json& json) {
  return json.get_ref<const nlohmann::json::number_integer_t&>();
}

/// The same for what is never below 0, such as bytes of a file; a negative number turns huge.
inline std::uint64_t unsigned_of(const nlohmann::json& json) {
  return static_cast<std::uint64_t>(integer_of(json));
}

}  // namespace meshwork

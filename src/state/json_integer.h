#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace meshwork {

/// A whole number of 64 bits. Throws the library's exception for everything else, real numbers
/// included, which the library would convert.
inline std::int64_t integer_of(const nlohmann::json& json) {
  return json.get_ref<const nlohmann::json::number_integer_t&>();
}

}  // namespace meshwork

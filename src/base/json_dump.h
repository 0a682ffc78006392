#pragma once

#include <string>

namespace meshwork {

/// The text of nlohmann::json or ordered_json, in one line without `indent`. Bytes that are no
/// UTF-8, which paths may have, become U+FFFD.
template <class Json>
std::string json_dump(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace meshwork

#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace meshwork {

/// Parses JSON of another program. What is none, is nested more than 64 deep, or has a key twice,
/// which the library would let pass, is an Error of ExitCode::kFile: "`place`: `what` is not JSON,
/// at byte 7 of it".
nlohmann::json parse_json(std::string_view text, const std::string& place, std::string_view what);
/// The same with the keys in their order.
nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& place,
                                          std::string_view what);

}  // namespace meshwork

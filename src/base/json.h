#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace meshwork {

// Of Json, nlohmann::json or ordered_json, whose reader and writer are compiled in json.cpp alone.

/// The text, in one line without `indent`. Bytes that are no UTF-8, which paths may have, become
/// U+FFFD.
template <class Json>
std::string json_dump(const Json& json, int indent = -1);

/// Parses JSON. What is none is an Error of ExitCode::kFile: "`place`: `part` is not JSON, at byte
/// 7 of it", of a file as a whole "`place`: it is not JSON, at byte 7".
template <class Json>
Json parse_json(std::string_view text, const std::string& place, std::string_view part = {});

/// The same of JSON of another program. What is nested more than 64 deep, or has a key twice, which
/// the library would let pass, is an Error, too.
template <class Json>
Json parse_strict_json(std::string_view text, const std::string& place, std::string_view part = {});

/// Null where the text is no JSON.
template <class Json>
Json json_or_null(std::string_view text);

}  // namespace meshwork

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace meshwork::data {

/// GPT-2's alphabet of bytes: signs that can be seen stand for themselves, the other bytes, in
/// their order, for the characters from U+0100 on: "Ġ" is a space.
void append_as_letters(std::string_view bytes, std::string& out);

/// Inverse; nullopt where a character is no letter of it.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace meshwork::data

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace meshwork {

/// Whether the text is UTF-8 without control characters, but for tabs and line ends.
bool is_plain_text(std::string_view text);

/// The text as a terminal may show it: control characters other than tabs and line ends, and bytes
/// that are no UTF-8, become \x1B.
std::string visible(std::string_view text);

/// As visible(), in one line; of a text with more than `most` bytes the beginning and its size:
/// "aaaa... (750000 bytes)".
std::string excerpt(std::string_view text, std::size_t most = 120);

/// Of a text with more than `most` bytes the beginning and the end, with a word on what is left
/// out between them.
std::string shortened(std::string_view text, std::size_t most = 8000);

}  // namespace meshwork

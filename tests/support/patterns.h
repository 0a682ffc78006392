#pragma once

#include <string>
#include <vector>

namespace meshwork::testing {

// Patterns are regexes of ECMAScript, as <regex> reads them, which takes each file that
// includes it two seconds to compile.

/// Whether the pattern matches all of the text, or a part of it.
bool matches(const std::string& text, const std::string& pattern);
bool has_match(const std::string& text, const std::string& pattern);

/// The whole text and its groups; empty where the pattern does not match all of it.
std::vector<std::string> whole_match(const std::string& text, const std::string& pattern);

/// The first part of the text that matches, and its groups; empty where there is none.
std::vector<std::string> first_match(const std::string& text, const std::string& pattern);

/// The text with `by` in place of every match, or of the first one; `$1` in it is a group.
std::string replace_all(const std::string& text, const std::string& pattern, const std::string& by);
std::string replace_first(const std::string& text, const std::string& pattern,
                          const std::string& by);

}  // namespace meshwork::testing

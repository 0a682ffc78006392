#pragma once

#include <string>
#include <string_view>

namespace meshwork::data {

/// The pattern of a tokenizer.json, which is for Oniguruma in Ruby's syntax, for PCRE2 (UTF, UCP,
/// MULTILINE). Throws an Error of ExitCode::kFile that begins with `place` for what the two read
/// differently.
std::string to_pcre2(std::string_view pattern, const std::string& place);

}  // namespace meshwork::data

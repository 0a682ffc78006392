#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/tokenizer/json_reader.h"

namespace meshwork::data {

/// A part of a text: a match, or what lies between two of them.
struct Segment {
  std::string_view text;
  bool is_match = false;
};
using SegmentSink = std::function<void(const Segment&)>;

/// Cuts a text into matches and what lies between them, in order, and gives all of them.
using Segments = std::function<void(std::string_view text, const SegmentSink& sink)>;

/// Each character of which `is_match` is true.
Segments each_character(bool (*is_match)(char32_t));
/// Each place with these bytes, of which there is one at least.
Segments each_literal(std::string bytes);
/// A regular expression of Oniguruma; throws an Error of ExitCode::kFile that begins with `place`
/// for one that cannot be read, and when it is run for one that takes too long.
Segments each_regex(const std::string& pattern, const std::string& place);

/// {"String": " "} or {"Regex": "\\s+"} at a key.
Segments read_pattern(JsonReader& reader, std::string_view key);

/// Puts `content` in the place of each match.
std::function<std::string(std::string_view text)> replacing(Segments segments, std::string content);

/// Throws an Error where a sequence of replacements makes far more of a text than it was: each may
/// double it.
void check_growth(std::string_view what, std::size_t before, std::size_t after);

}  // namespace meshwork::data

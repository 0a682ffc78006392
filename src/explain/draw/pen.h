#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace meshwork {

enum class Colours { kNone, k256, kTrue };

/// How pictures are written.
struct Pen {
  int width = 100;                   ///< columns that lines may take
  Colours colours = Colours::kNone;  ///< escape sequences, or none
  bool ascii = false;                ///< + - | for box-drawing characters
};

/// What `--color` asks for.
enum class ColourWish { kAuto, kAlways, kNever };

/// The pen for a file descriptor: colour if it is a terminal and NO_COLOR is not set, unless it is
/// wished otherwise; 24 bits where COLORTERM says so. The width is COLUMNS, that of the terminal,
/// or 100.
Pen pen_for(int fd, ColourWish wish, bool ascii);

std::string repeat(std::string_view text, std::size_t times);

/// The text in `width` columns, with spaces after, before or around it.
enum class Align { kLeft, kRight, kCentre };
std::string pad(std::string_view text, std::size_t width, Align align = Align::kLeft);

/// Lines of at most `width` columns, broken at spaces, else after one of `/_,;=[(`, else anywhere.
/// Line feeds are kept.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// Columns of the longest piece that wrap() leaves whole if it can.
std::size_t longest_word(std::string_view text);

/// Text on the background colour number `index`; colours of near numbers are unlike.
std::string on_colour(std::string_view text, std::size_t index, const Pen& pen);
std::string bold(std::string_view text, const Pen& pen);

/// What is written in the end: box-drawing characters replaced if the pen wants ASCII.
std::string finished(std::string_view text, const Pen& pen);

/// "1,234,567".
std::string show_count(std::int64_t count);

}  // namespace meshwork

#include "explain/draw/pen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "base/terminal.h"

namespace meshwork {
namespace {

constexpr std::string_view kReset = "\x1b[0m";
constexpr std::string_view kBreakAfter = "/_,;=[(";

/// One column each, so that pictures keep their form.
constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kAscii{{
    {"─", "-"}, {"│", "|"}, {"┌", "+"}, {"┬", "+"}, {"┐", "+"}, {"├", "+"}, {"┼", "+"},
    {"┤", "+"}, {"└", "+"}, {"┴", "+"}, {"┘", "+"}, {"━", "="}, {"┃", "|"}, {"┏", "+"},
    {"┳", "+"}, {"┓", "+"}, {"┡", "+"}, {"╇", "+"}, {"┩", "+"}, {"╞", "+"}, {"╡", "+"},
    {"…", "~"}, {"█", "#"}, {"░", "+"}, {"×", "x"}, {"·", "."}, {"⋮", ":"},
}};

/// Where the first `columns` columns of `text` end, in bytes.
std::size_t bytes_of_columns(std::string_view text, std::size_t columns) {
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (!continues_character(text[bytes]) && seen++ == columns) break;
  }
  return bytes;
}

/// Bytes of `line` to take into one line of `width` columns.
std::size_t bytes_that_fit(std::string_view line, std::size_t width) {
  const std::size_t limit = bytes_of_columns(line, width);
  if (limit == line.size()) return limit;
  // The space after the last word may fall beyond the limit.
  const std::size_t space = line.rfind(' ', limit);
  if (space != std::string_view::npos && space > 0) return space;
  for (std::size_t end = limit; end > 1; --end) {
    if (kBreakAfter.find(line[end - 1]) != std::string_view::npos) return end;
  }
  return limit;
}

struct Rgb {
  int red = 0;
  int green = 0;
  int blue = 0;
};

/// Hues a golden section apart, light enough for black text.
Rgb colour(std::size_t index) {
  const double turn = std::fmod(0.58 + 0.6180339887498949 * static_cast<double>(index), 1.0);
  const auto channel = [&](double shift) {
    const double wave = std::cos(2 * 3.141592653589793 * (turn - shift));
    return static_cast<int>(std::lround(180 + 70 * wave));
  };
  return {channel(0), channel(1.0 / 3), channel(2.0 / 3)};
}

/// Of the 6 x 6 x 6 colours of terminals with 256.
int cube_index(const Rgb& rgb) {
  const auto level = [](int value) { return value < 48 ? 0 : std::min(5, (value - 35) / 40); };
  return 16 + 36 * level(rgb.red) + 6 * level(rgb.green) + level(rgb.blue);
}

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

Colours colours_for(bool live, ColourWish wish) {
  if (wish == ColourWish::kNever) return Colours::kNone;
  if (wish == ColourWish::kAuto && (!live || is_set("NO_COLOR"))) return Colours::kNone;
  const char* text = std::getenv("COLORTERM");
  const std::string_view depth = text == nullptr ? "" : text;
  return depth == "truecolor" || depth == "24bit" ? Colours::kTrue : Colours::k256;
}

}  // namespace

Pen pen_for(int fd, ColourWish wish, bool ascii) {
  const Terminal terminal = terminal_of(fd);
  Pen pen;
  if (const int columns = terminal.columns(); columns > 0) pen.width = columns;
  pen.width = std::clamp(pen.width, 40, 1000);
  pen.colours = colours_for(terminal.live, wish);
  pen.ascii = ascii;
  return pen;
}

std::string repeat(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  const std::size_t own = width_of(text);
  const std::size_t room = width > own ? width - own : 0;
  const std::size_t before = align == Align::kLeft ? 0 : align == Align::kRight ? room : room / 2;
  return std::string(before, ' ') + std::string(text) + std::string(room - before, ' ');
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  width = std::max<std::size_t>(width, 1);
  for (bool more = true; more;) {
    const std::size_t feed = text.find('\n');
    std::string_view line = text.substr(0, feed);
    do {
      const std::size_t end = bytes_that_fit(line, width);
      lines.emplace_back(line.substr(0, end));
      line.remove_prefix(end);
      while (line.starts_with(' ')) line.remove_prefix(1);
    } while (!line.empty());
    more = feed != std::string_view::npos;
    if (more) text.remove_prefix(feed + 1);
  }
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && text[end] != ' ' && text[end] != '\n' &&
           kBreakAfter.find(text[end]) == std::string_view::npos) {
      ++end;
    }
    const bool stays = end < text.size() && text[end] != ' ' && text[end] != '\n';
    longest = std::max(longest, width_of(text.substr(begin, end - begin)) + (stays ? 1 : 0));
    begin = end + 1;
  }
  return longest;
}

std::string on_colour(std::string_view text, std::size_t index, const Pen& pen) {
  if (pen.colours == Colours::kNone) return std::string(text);
  const Rgb rgb = colour(index);
  if (pen.colours == Colours::kTrue) {
    return fmt::format("\x1b[30;48;2;{};{};{}m{}{}", rgb.red, rgb.green, rgb.blue, text, kReset);
  }
  return fmt::format("\x1b[30;48;5;{}m{}{}", cube_index(rgb), text, kReset);
}

std::string bold(std::string_view text, const Pen& pen) {
  if (pen.colours == Colours::kNone) return std::string(text);
  return fmt::format("\x1b[1m{}{}", text, kReset);
}

std::string finished(std::string_view text, const Pen& pen) {
  std::string result(text);
  if (!pen.ascii) return result;
  for (const auto& [from, to] : kAscii) {
    for (std::size_t at = result.find(from); at != std::string::npos; at = result.find(from, at)) {
      result.replace(at, from.size(), to);
    }
  }
  return result;
}

std::string show_count(std::int64_t count) {
  std::string digits = std::to_string(count);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace meshwork

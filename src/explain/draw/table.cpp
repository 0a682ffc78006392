#include "explain/draw/table.h"

#include <algorithm>
#include <numeric>

namespace meshwork {
namespace {

constexpr std::size_t kNarrowest = 6;

using Widths = std::vector<std::size_t>;

std::size_t widest_line(const std::string& cell) {
  std::size_t widest = 0;
  for (const std::string& line : wrap(cell, std::string::npos)) {
    widest = std::max(widest, width_of(line));
  }
  return widest;
}

/// Every column as wide as its widest cell, then the widest ones narrower until all fit; those
/// whose words would be broken last.
Widths choose_widths(const std::vector<Column>& columns,
                     const std::vector<std::vector<std::string>>& rows, std::size_t limit) {
  Widths widths;
  Widths words;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = width_of(columns[c].title);
    std::size_t word = longest_word(columns[c].title);
    for (const auto& row : rows) {
      width = std::max(width, widest_line(row[c]));
      word = std::max(word, longest_word(row[c]));
    }
    widths.push_back(width);
    words.push_back(word);
  }
  // Each has a space before and after it and a line before it; a last line ends the table.
  std::size_t total =
      std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + 3 * widths.size() + 1;
  for (; total > limit; --total) {
    std::size_t* widest = nullptr;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const bool roomy = widths[c] > words[c];
      if (roomy && (widest == nullptr || widths[c] > *widest)) widest = &widths[c];
    }
    if (widest == nullptr) widest = &*std::max_element(widths.begin(), widths.end());
    if (*widest <= kNarrowest) break;
    --*widest;
  }
  return widths;
}

std::string rule(const Widths& widths, std::string_view left, std::string_view line,
                 std::string_view cross, std::string_view right) {
  std::string text(left);
  for (std::size_t c = 0; c < widths.size(); ++c) {
    if (c > 0) text += cross;
    text += repeat(line, widths[c] + 2);
  }
  return text + std::string(right) + "\n";
}

std::string draw_row(const std::vector<std::string>& cells, const std::vector<Column>& columns,
                     const Widths& widths, std::string_view bar, const Pen& pen, bool title) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    lines.push_back(wrap(cells[c], widths[c]));
    height = std::max(height, lines.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string line = i < lines[c].size() ? lines[c][i] : "";
      const std::string padded = pad(line, widths[c], columns[c].align);
      text += std::string(bar) + " " + (title ? bold(padded, pen) : padded) + " ";
    }
    text += std::string(bar) + "\n";
  }
  return text;
}

}  // namespace

std::string draw_table(const std::vector<Column>& columns,
                       const std::vector<std::vector<std::string>>& rows, const Pen& pen) {
  const Widths widths = choose_widths(columns, rows, static_cast<std::size_t>(pen.width));
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.push_back(column.title);
  std::string text = rule(widths, "┏", "━", "┳", "┓");
  text += draw_row(titles, columns, widths, "┃", pen, true);
  text += rule(widths, "┡", "━", "╇", "┩");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (r > 0) text += rule(widths, "├", "─", "┼", "┤");
    text += draw_row(rows[r], columns, widths, "│", pen, false);
  }
  return finished(text + rule(widths, "└", "─", "┴", "┘"), pen);
}

}  // namespace meshwork

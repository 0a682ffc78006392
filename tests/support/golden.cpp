#include "support/golden.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace meshwork::testing {
namespace {

constexpr std::size_t kMostLines = 12;

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream stream(text);
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// A line without the numbers of values, places and instructions.
std::string without_numbers(const std::string& line) {
  std::string result;
  bool in_number = true;  // an instruction's stands first
  for (const char c : line) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (in_number && (is_digit || (c == ' ' && result.empty()))) continue;
    in_number = c == '%' || c == '@';
    result += c;
  }
  return result;
}

/// length[i][j]: of the longest common subsequence of a[i..] and b[j..].
std::vector<std::vector<int>> common_lengths(const Lines& a, const Lines& b) {
  std::vector<std::vector<int>> length(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i][j] =
          a[i] == b[j] ? length[i + 1][j + 1] + 1 : std::max(length[i + 1][j], length[i][j + 1]);
    }
  }
  return length;
}

/// The lines that only one side has, as `a` and `b` compare; printed as `was` and `is` have them.
Lines changes(const Lines& a, const Lines& b, const Lines& was, const Lines& is) {
  const auto length = common_lengths(a, b);
  Lines result;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i, ++j;
    } else if (j == b.size() || (i < a.size() && length[i + 1][j] >= length[i][j + 1])) {
      result.push_back(fmt::format("  {:4} - {}", i + 1, was[i]));
      ++i;
    } else {
      result.push_back(fmt::format("  {:4} + {}", j + 1, is[j]));
      ++j;
    }
  }
  return result;
}

Lines each_without_numbers(Lines lines) {
  std::transform(lines.begin(), lines.end(), lines.begin(), without_numbers);
  return lines;
}

}  // namespace

std::string difference(const std::string& golden, const std::string& text) {
  if (golden == text) return "";
  const Lines was = lines_of(golden), is = lines_of(text);
  Lines found = changes(each_without_numbers(was), each_without_numbers(is), was, is);
  if (found.empty()) found = changes(was, is, was, is);
  if (found.empty()) return "the end of the last line";
  std::string shown;
  for (std::size_t i = 0; i < std::min(found.size(), kMostLines); ++i) shown += found[i] + '\n';
  if (found.size() > kMostLines) {
    shown += fmt::format("  and {} lines more\n", found.size() - kMostLines);
  }
  return shown;
}

bool updates_golden() { return std::getenv("MESHWORK_UPDATE_GOLDEN") != nullptr; }

void check_golden(const std::filesystem::path& file, const std::string& golden,
                  const std::string& text) {
  const std::string changed = difference(golden, text);
  CHECK_MESSAGE(changed.empty(), file.string(), ":\n", changed,
                "if that is meant: scripts/update_golden.py, and read the diff");
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace meshwork::testing

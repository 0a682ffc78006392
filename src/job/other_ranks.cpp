#include "job/other_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/join.h"
#include "job/first_difference.h"

namespace meshwork {
namespace {

/// The first line that differs.
std::string difference(const std::string& theirs, const std::string& mine) {
  const auto [their_line, my_line] = first_difference(theirs, mine, "nothing");
  const auto trimmed = [](const std::string& line) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    return line.substr(begin, 200);
  };
  return fmt::format("'{}' there, '{}' here", trimmed(their_line), trimmed(my_line));
}

/// "rank 2 has", "ranks 1, 2 have".
std::string subject(const std::vector<int>& ranks) {
  constexpr std::size_t kMost = 8;
  const std::span<const int> first = std::span(ranks).first(std::min(ranks.size(), kMost));
  const std::string others =
      ranks.size() > kMost ? fmt::format(" and {} more", ranks.size() - kMost) : "";
  return fmt::format("rank{} {}{} {}", ranks.size() == 1 ? "" : "s", join(first, ", "), others,
                     ranks.size() == 1 ? "has" : "have");
}

}  // namespace

std::string describe_other_ranks(const std::vector<std::string>& texts, const std::string& name) {
  std::vector<int> others;
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    if (texts[rank] != texts[0]) others.push_back(static_cast<int>(rank));
  }
  if (others.empty()) return "";
  return fmt::format("{} {} than rank 0: {}", subject(others), name,
                     difference(texts[static_cast<std::size_t>(others.front())], texts[0]));
}

}  // namespace meshwork

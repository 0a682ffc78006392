#include "base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <span>
#include <utility>

#include "base/join.h"
#include "base/quote.h"

namespace meshwork {
namespace {

/// Letters to insert, leave out, replace, or swap with their neighbour (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last, row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

std::string lower_case(std::string_view word) {
  std::string result(word);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

constexpr std::size_t kLongestWord = 256;  // longer ones are no slips of the hand
constexpr std::size_t kMostShown = 60;     // of the words that are known

std::vector<std::string> quoted(std::span<const std::string> words) {
  std::vector<std::string> result;
  for (const std::string& word : words) result.push_back(fmt::format("'{}'", excerpt(word)));
  return result;
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  // Upper and lower case count only among words that are as near without.
  using Distances = std::pair<std::size_t, std::size_t>;
  std::vector<std::pair<Distances, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::size_t longest = std::max(word.size(), candidate.size());
    const std::size_t shortest = std::min(word.size(), candidate.size());
    // As many letters at least are left out.
    if (longest > kLongestWord || 2 * (longest - shortest) > longest) continue;
    const std::size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (2 * distance > longest) continue;
    // With half of its letters wrong a word begins as the other does.
    const bool is_far = distance > 1 && 2 * distance == longest;
    if (is_far && lower_case(word.substr(0, 1)) != lower_case(candidate.substr(0, 1))) continue;
    ranked.emplace_back(Distances{distance, edit_distance(word, candidate)}, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) {
    result.push_back(ranked[i].second);
  }
  return result;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return {};
  const auto near = nearest(word, candidates);
  if (!near.empty()) return fmt::format("; nearest: {}", join(quoted(near), ", "));
  const std::size_t shown = std::min(kMostShown, candidates.size());
  const std::string more =
      shown < candidates.size() ? fmt::format(" and {} more", candidates.size() - shown) : "";
  return fmt::format("; known: {}{}", join(quoted(std::span(candidates).first(shown)), ", "), more);
}

}  // namespace meshwork

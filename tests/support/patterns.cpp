#include "support/patterns.h"

#include <regex>

namespace meshwork::testing {
namespace {

std::vector<std::string> groups(const std::smatch& match) { return {match.begin(), match.end()}; }

}  // namespace

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_match(text, std::regex(pattern));
}

bool has_match(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

std::vector<std::string> whole_match(const std::string& text, const std::string& pattern) {
  std::smatch match;
  std::regex_match(text, match, std::regex(pattern));
  return groups(match);
}

std::vector<std::string> first_match(const std::string& text, const std::string& pattern) {
  std::smatch match;
  std::regex_search(text, match, std::regex(pattern));
  return groups(match);
}

std::string replace_all(const std::string& text, const std::string& pattern,
                        const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

std::string replace_first(const std::string& text, const std::string& pattern,
                          const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by, std::regex_constants::format_first_only);
}

}  // namespace meshwork::testing

#include "explain/alike.h"

#include <algorithm>
#include <string_view>

#include "base/join.h"
#include "base/split.h"

namespace meshwork {
namespace {

std::vector<std::string> names_of(const std::string& path) {
  const std::vector<std::string_view> names = split(path, '/');
  return {names.begin(), names.end()};
}

/// "block_3" -> "block", and so what joined() makes of several.
std::string kind_of(const std::string& name) {
  if (name.ends_with('*')) return name.substr(0, name.size() - 1);
  const std::size_t last = name.find_last_not_of("0123456789");
  const bool is_numbered =
      last != std::string::npos && last > 0 && last + 1 < name.size() && name[last] == '_';
  return is_numbered ? name.substr(0, last) : name;
}

/// The text as a regular expression that matches it alone.
std::string literal(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    if (std::string_view(".^$|()[]{}*+?\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace

std::string without_numbers(const std::string& path) {
  std::vector<std::string> names = names_of(path);
  for (std::string& name : names) name = kind_of(name);
  return join(names, "/");
}

std::string joined(const std::string& a, const std::string& b) {
  std::vector<std::string> names = names_of(a);
  const std::vector<std::string> others = names_of(b);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != others[i]) names[i] = kind_of(names[i]) + "*";
  }
  return join(names, "/");
}

std::string pattern_of(const std::vector<std::string>& paths) {
  std::vector<std::string> patterns = names_of(paths.front());
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::string first = patterns[i], kind = kind_of(first);
    bool differ = false, is_bare = false;
    for (const std::string& path : paths) {
      const std::string name = names_of(path)[i];
      differ = differ || name != first;
      is_bare = is_bare || name == kind;
    }
    patterns[i] = !differ   ? literal(first)
                  : is_bare ? literal(kind) + "(_\\d+)?"
                            : literal(kind) + "_\\d+";
  }
  return join(patterns, "/");
}

}  // namespace meshwork

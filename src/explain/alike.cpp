#include "explain/alike.h"

#include <algorithm>
#include <vector>

#include "base/join.h"

namespace meshwork {
namespace {

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// "block_3" -> "block", and so what joined() makes of several.
std::string kind_of(const std::string& name) {
  if (name.ends_with('*')) return name.substr(0, name.size() - 1);
  const std::size_t last = name.find_last_not_of("0123456789");
  const bool is_numbered =
      last != std::string::npos && last > 0 && last + 1 < name.size() && name[last] == '_';
  return is_numbered ? name.substr(0, last) : name;
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

}  // namespace meshwork

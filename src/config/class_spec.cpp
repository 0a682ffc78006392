#include <algorithm>
#include <cctype>

#include "config/config.h"

namespace meshwork::config {

ClassSpec read_class(const Value& value, std::string_view what) {
  if (value.is_scalar() && !value.scalar.empty()) {
    Value args;
    args.at = value.at;
    return {value.scalar, args, value.at};
  }
  if (!value.is_map() || value.map.empty()) {
    fail_at(value.at, "{} must be the name of a class, or a class with its arguments, not {}", what,
            describe(value));
  }
  const Value::Entry& entry = value.map[0];
  if (value.map.size() > 1) {
    fail_at(value.map[1].at,
            "{} is one class, but here stand '{}' and '{}'; indent arguments deeper than the class",
            what, entry.key, value.map[1].key);
  }
  if (!entry.value.is_map() && !entry.value.is_null()) {
    fail_at(entry.value.at, "{}: arguments of '{}' must be a map of keys, not {}", what, entry.key,
            describe(entry.value));
  }
  return {entry.key, entry.value, entry.at};
}

bool same_class(std::string_view a, std::string_view b) {
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace meshwork::config

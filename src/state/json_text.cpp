#include "state/json_text.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace meshwork {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kLongestKey = 1000;

template <class Json>
Json parse(std::string_view text, const std::string& place, std::string_view what) {
  std::vector<std::set<std::string>> keys;  // of the open maps, by depth
  const auto watch = [&](int depth, typename Json::parse_event_t event, Json& value) {
    const auto level = static_cast<std::size_t>(depth);
    if (depth > kMaxDepth) {
      fail(ExitCode::kFile, "{}: {} is nested more than {} deep", place, what, kMaxDepth);
    }
    if (event == Json::parse_event_t::object_start) {
      keys.resize(level + 1);
      keys[level].clear();
    }
    if (event == Json::parse_event_t::key &&
        !keys[level - 1].insert(value.template get<std::string>()).second) {
      fail(ExitCode::kFile, "{}: {} has the key '{}' twice", place, what,
           shortened(value.template get<std::string>(), kLongestKey));
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::parse_error& error) {
    fail(ExitCode::kFile, "{}: {} is not JSON, at byte {} of it", place, what, error.byte);
  } catch (const typename Json::exception&) {
    fail(ExitCode::kFile, "{}: {} is not JSON that can be read", place, what);
  }
}

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& place, std::string_view what) {
  return parse<nlohmann::json>(text, place, what);
}

nlohmann::ordered_json parse_ordered_json(std::string_view text, const std::string& place,
                                          std::string_view what) {
  return parse<nlohmann::ordered_json>(text, place, what);
}

}  // namespace meshwork

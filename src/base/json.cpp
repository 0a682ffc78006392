#include "base/json.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace meshwork {
namespace {

constexpr int kMaxDepth = 64;
constexpr std::size_t kLongestKey = 1000;

/// A text, as errors call it.
struct Source {
  const std::string& place;
  std::string_view part;

  std::string name() const { return fmt::format("{}: {}", place, part.empty() ? "it" : part); }
};

/// Refuses what the library lets pass.
template <class Json>
class Watch {
 public:
  explicit Watch(const Source& source) : source_(source) {}

  bool operator()(int depth, typename Json::parse_event_t event, Json& value) {
    const auto level = static_cast<std::size_t>(depth);
    if (depth > kMaxDepth) {
      fail(ExitCode::kFile, "{} is nested more than {} deep", source_.name(), kMaxDepth);
    }
    if (event == Json::parse_event_t::object_start) {
      keys_.resize(level + 1);
      keys_[level].clear();
    }
    if (event == Json::parse_event_t::key) add_key(level - 1, value.template get<std::string>());
    return true;
  }

 private:
  void add_key(std::size_t level, const std::string& key) {
    if (keys_[level].insert(key).second) return;
    fail(ExitCode::kFile, "{} has the key '{}' twice", source_.name(), shortened(key, kLongestKey));
  }

  const Source& source_;
  std::vector<std::set<std::string>> keys_;  ///< of the open maps, by depth
};

template <class Json>
Json parse(std::string_view text, const Source& source,
           const typename Json::parser_callback_t& watch) {
  try {
    return Json::parse(text, watch);
  } catch (const typename Json::parse_error& error) {
    fail(ExitCode::kFile, "{} is not JSON, at byte {}{}", source.name(), error.byte,
         source.part.empty() ? "" : " of it");
  } catch (const typename Json::exception&) {
    fail(ExitCode::kFile, "{} is not JSON that can be read", source.name());
  }
}

}  // namespace

template <class Json>
std::string json_dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

template <class Json>
Json parse_json(std::string_view text, const std::string& place, std::string_view part) {
  return parse<Json>(text, {place, part}, nullptr);
}

template <class Json>
Json parse_strict_json(std::string_view text, const std::string& place, std::string_view part) {
  const Source source{place, part};
  return parse<Json>(text, source, Watch<Json>(source));
}

template <class Json>
Json json_or_null(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

using nlohmann::json;
using nlohmann::ordered_json;

template std::string json_dump(const json&, int);
template std::string json_dump(const ordered_json&, int);
template json parse_json(std::string_view, const std::string&, std::string_view);
template ordered_json parse_json(std::string_view, const std::string&, std::string_view);
template json parse_strict_json(std::string_view, const std::string&, std::string_view);
template ordered_json parse_strict_json(std::string_view, const std::string&, std::string_view);
template json json_or_null(std::string_view);
template ordered_json json_or_null(std::string_view);

}  // namespace meshwork

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "base/json.h"
#include "explain/draw/columns.h"
#include "explain/suggestion.h"
#include "explain/words.h"
#include "job/mesh_json.h"

namespace meshwork {
namespace {

/// A key of YAML; in quotes where it is more than a path.
std::string show_key(const std::string& pattern) {
  const bool is_path = pattern.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/-") == std::string::npos;
  if (is_path) return pattern;
  std::string quoted = "'";
  for (const char c : pattern) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

/// A section of the file; "" without rules.
std::string show_section(const std::string& name, const std::vector<config::LayoutRule>& rules) {
  std::string text = rules.empty() ? "" : name + ":\n";
  for (const config::LayoutRule& rule : rules) {
    text += fmt::format("  {}: {}\n", show_key(rule.pattern), show_entries(rule));
  }
  return text;
}

std::string show_rules(const SuggestedRules& rules) {
  return show_section("layout_map", rules.layout_map) +
         show_section("optimizer_layout", rules.optimizer_layout);
}

std::vector<std::string> row_of(const std::string& name, const PlanReport& report, double cost) {
  return {name,
          show_bytes(report.memory.use.bytes()),
          show_bytes(report.sent_bytes),
          std::to_string(report.calls),
          show_operations(report.most.all()),
          fmt::format("{:.2f}", cost)};
}

std::vector<std::string> titles(const std::string& first) {
  return {first, "memory", "sends", "calls", "operations", "cost"};
}

std::string advice(const Suggestion& suggestion) {
  std::string text;
  if (suggestion.recomputes) {
    text = fmt::format(
        "no layout that was tried fits into memory_limit by itself; {} when parts of it are "
        "computed again, which fit does without being asked\n",
        suggestion.rules.empty() ? "the step as the file has it fits"
                                 : "with these rules the step fits");
  } else if (suggestion.rules.empty() && suggestion.tried > 1) {
    text = "no other layout of a weight makes the step cheaper on this mesh\n";
  } else if (suggestion.rules.empty()) {
    text =
        "nothing to try: every weight has a rule, or no axis splits anything but the batch; take a "
        "mesh with another axis, such as --mesh data=2,model=2\n";
  }
  if (!suggestion.fits) {
    text +=
        "a step takes more than memory_limit under every layout that was tried: take more "
        "devices, a smaller batch, or rematerialize\n";
  }
  return text;
}

using Json = nlohmann::ordered_json;

Json map_json(const std::vector<config::LayoutRule>& rules) {
  Json map = Json::object();
  for (const config::LayoutRule& rule : rules) {
    Json& entries = map[rule.pattern] = Json::array();
    for (const auto& axes : rule.dims) {
      entries.push_back(axes.empty()       ? Json(nullptr)
                        : axes.size() == 1 ? Json(axes.front())
                                           : Json(axes));
    }
  }
  return map;
}

Json step_json(const PlanReport& plan, double work) {
  return {{"memory", plan.memory.use.bytes()},
          {"sends", plan.sent_bytes},
          {"calls", plan.calls},
          {"operations", plan.most.all()},
          {"cost", work}};
}

Json json_of(const Suggestion& suggestion) {
  return {{"mesh", mesh_json(suggestion.mesh)},
          {"layout_map", map_json(suggestion.rules.layout_map)},
          {"optimizer_layout", map_json(suggestion.rules.optimizer_layout)},
          {"fits", suggestion.fits},
          {"recomputes", suggestion.recomputes},
          {"tried", suggestion.tried},
          {"before", step_json(suggestion.before, suggestion.work_before)},
          {"after", step_json(suggestion.after, suggestion.work_after)}};
}

}  // namespace

std::string suggestion_text(const Suggestion& suggestion) {
  std::string text = fmt::format("{}; {} layout{} tried\n\n", show_mesh(suggestion.mesh),
                                 suggestion.tried, suggestion.tried == 1 ? " was" : "s were");
  if (!suggestion.rules.empty()) text += show_rules(suggestion.rules) + "\n";
  if (const std::string line = advice(suggestion); !line.empty()) text += line + "\n";
  std::vector<std::vector<std::string>> rows{titles("a step, per device"),
                                             row_of("as the file has it", suggestion.before, 1)};
  if (!suggestion.rules.empty()) {
    rows.push_back(row_of("with these rules", suggestion.after,
                          suggestion.work_after / suggestion.work_before));
  }
  return text + in_columns(rows);
}

std::string suggestions_text(const std::vector<Suggestion>& suggestions) {
  const auto best = std::ranges::min_element(suggestions, [](const auto& a, const auto& b) {
    return a.fits != b.fits ? a.fits : a.work_after < b.work_after;
  });
  std::vector<std::vector<std::string>> rows{titles("a step, per device")};
  for (const Suggestion& suggestion : suggestions) {
    rows.push_back(row_of(to_string(suggestion.mesh), suggestion.after,
                          suggestion.work_after / best->work_after));
    if (!suggestion.fits) rows.back().push_back("more than memory_limit");
  }
  std::string text = in_columns(rows) + "\n" + show_mesh(best->mesh) + ", which costs least\n\n";
  return text + show_rules(best->rules) + advice(*best);
}

std::string suggestion_json(const Suggestion& suggestion) {
  return json_dump(json_of(suggestion), 2) + "\n";
}

std::string suggestions_json(const std::vector<Suggestion>& suggestions) {
  Json all = Json::array();
  for (const Suggestion& suggestion : suggestions) all.push_back(json_of(suggestion));
  return json_dump(all, 2) + "\n";
}

}  // namespace meshwork

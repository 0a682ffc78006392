#include "model/freeze.h"

#include <algorithm>

namespace meshwork {
namespace {

/// A layer is meant by its path, and by a pattern for all that stands below it.
bool matches_layer(const config::PathPattern& rule, const std::string& path) {
  return rule.matches(path) || rule.matches(path + "/");
}

}  // namespace

FreezeRules::FreezeRules(const std::vector<config::PathRule>& rules) {
  for (const config::PathRule& rule : rules) rules_.emplace_back(rule.pattern, rule.at, "freeze");
}

bool FreezeRules::freezes_layer(const std::string& path) const {
  return std::any_of(rules_.begin(), rules_.end(), [&](const config::PathPattern& rule) {
    for (std::size_t end = path.find('/'); end != std::string::npos;
         end = path.find('/', end + 1)) {
      if (matches_layer(rule, path.substr(0, end))) return true;
    }
    return matches_layer(rule, path);
  });
}

bool FreezeRules::freezes_variable(const std::string& path) const {
  return std::any_of(rules_.begin(), rules_.end(),
                     [&](const config::PathPattern& rule) { return rule.matches(path); });
}

void FreezeRules::check_all_hit(const config::ModelSpec& model, const Graph& graph) const {
  if (rules_.empty()) return;
  std::vector<std::string> variables;
  for (const Variable& variable : graph.variables) variables.push_back(variable.path);
  std::vector<std::string> layers;
  for (const config::LayerSpec& layer : model.layers) layers.push_back(layer.path);
  for (const config::PathPattern& rule : rules_) {
    const bool hit = std::any_of(variables.begin(), variables.end(),
                                 [&](const std::string& path) { return rule.matches(path); }) ||
                     std::any_of(layers.begin(), layers.end(), [&](const std::string& path) {
                       return matches_layer(rule, path);
                     });
    if (hit) continue;
    std::vector<std::string> paths = layers;
    paths.insert(paths.end(), variables.begin(), variables.end());
    rule.fail_unmatched(paths, "no layer and no variable");
  }
}

}  // namespace meshwork

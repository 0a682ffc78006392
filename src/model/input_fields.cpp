#include "model/input_fields.h"

#include <algorithm>

#include "base/names.h"

namespace meshwork {

std::vector<std::string> label_names(const config::Config& config) {
  std::vector<std::string> names;
  for (const config::OutputSpec& output : config.model.outputs) names.push_back(output.name);
  if (!config.compile) return names;
  for (const config::ObjectiveSpec& objective : config.compile->objectives) {
    if (!objective.label.empty()) names.push_back(objective.label);
  }
  return names;
}

std::optional<std::string> field_for(const config::InputSpec& input, const config::ModelSpec& model,
                                     const std::vector<std::string>& fields,
                                     const std::vector<std::string>& labels) {
  std::vector<std::string> possible, likely;
  for (const std::string& field : fields) {
    if (field == names::kLabels || field == names::kSampleWeight) continue;
    if (field == input.name) return field;
    possible.push_back(field);
    const bool is_label = std::ranges::count(labels, field) > 0;
    if (!is_label && !names::is_of_documents(field)) likely.push_back(field);
  }
  if (model.inputs.size() > 1) return std::nullopt;
  if (likely.size() == 1) return likely[0];
  if (possible.size() == 1) return possible[0];
  return std::nullopt;
}

}  // namespace meshwork

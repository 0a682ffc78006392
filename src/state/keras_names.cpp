#include "state/keras_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "state/stored_tensors.h"

namespace meshwork {
namespace {

using Visit = std::function<void(const KerasLayer&, const std::string& group)>;

/// Visits all layers of a model, which is `group` itself, with their groups.
void for_each_layer(const KerasLayer& model, const std::string& group, const Visit& visit) {
  std::map<std::string, int> used;
  for (const KerasLayer& layer : model.layers) {
    const int number = used[layer.kind]++;
    const std::string inner =
        fmt::format("{}{}layers/{}{}", group, group.empty() ? "" : "/", layer.kind,
                    number == 0 ? "" : fmt::format("_{}", number));
    visit(layer, inner);
    for_each_layer(layer, inner, visit);
  }
}

std::string variable_place(const std::string& group, std::size_t number) {
  return fmt::format("{}/vars/{}", group, number);
}

/// The part of a layer that has the variable: "token_embedding" of "t/token_embedding/embeddings",
/// "" of "d1/kernel".
std::string part_of(const KerasLayer& layer, const std::string& variable) {
  const std::size_t begin = layer.path.size() + 1;
  const std::size_t end = variable.rfind('/');
  return end <= begin ? "" : variable.substr(begin, end - begin);
}

/// The group of a part in that of the layer.
std::string part_group(const KerasLayer& layer, const std::string& group, const std::string& part) {
  const auto known = layer.parts.find(part);
  return group + "/" + (known == layer.parts.end() ? part : known->second);
}

void add_places(Places& places, const KerasLayer& layer, const std::string& group) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& variable : layer.variables) {
    const std::string part = part_of(layer, variable);
    const std::string inner = part.empty() ? group : part_group(layer, group, part);
    places[variable] = variable_place(inner, counts[part]++);
  }
}

/// Groups by the names that they and the groups around them have; "" where several have the same.
std::map<std::string, std::string> groups_by_name(const TensorFile& file) {
  std::map<std::string, std::string> groups;
  for (const auto& [group, name] : file.names()) {
    std::string full;
    for (std::size_t end = group.find('/'); end != std::string::npos;
         end = group.find('/', end + 1)) {
      const auto outer = file.names().find(group.substr(0, end));
      if (outer != file.names().end()) full += outer->second + "/";
    }
    const auto [known, is_new] = groups.emplace(flat_name(full + name), group);
    if (!is_new) known->second = "";
  }
  return groups;
}

/// Empty where a layer with variables has no group of its name.
Places places_by_name(const KerasModel& model, const TensorFile& file) {
  const std::map<std::string, std::string> groups = groups_by_name(file);
  Places places;
  bool are_all_there = true;
  for_each_layer(model.model, "", [&](const KerasLayer& layer, const std::string& /*group*/) {
    if (layer.variables.empty()) return;
    const auto group = groups.find(flat_name(layer.path));
    if (group == groups.end() || group->second.empty()) {
      are_all_there = false;
    } else {
      add_places(places, layer, group->second);
    }
  });
  return are_all_there ? places : Places{};
}

}  // namespace

std::string flat_name(std::string path) {
  std::replace(path.begin(), path.end(), '/', '_');
  return path;
}

Places keras_places(const KerasModel& model) {
  Places places;
  for_each_layer(model.model, "", [&](const KerasLayer& layer, const std::string& group) {
    add_places(places, layer, group);
  });
  return places;
}

std::map<std::string, std::string> keras_group_names(const KerasModel& model) {
  std::map<std::string, std::string> names{{"", model.model.name}};
  for_each_layer(model.model, "", [&](const KerasLayer& layer, const std::string& group) {
    names[group] = layer.name;
    for (const std::string& variable : layer.variables) {
      const std::string part = part_of(layer, variable);
      if (!part.empty()) names[part_group(layer, group, part)] = part;
    }
  });
  const bool is_scaled = !model.scaled_by.empty();
  if (is_scaled) names["optimizer/inner_optimizer"] = model.optimizer;
  if (!model.optimizer.empty()) names["optimizer"] = is_scaled ? model.scaled_by : model.optimizer;
  return names;
}

Places find_keras_places(const std::vector<KerasModel>& models, const TensorFile& file) {
  Places places = places_by_name(models.front(), file);
  if (!places.empty()) return places;
  for (const KerasModel& model : models) {
    places = keras_places(model);
    const bool fits = std::all_of(places.begin(), places.end(), [&](const auto& place) {
      return find_stored(file.tensors(), place.second) != nullptr;
    });
    if (fits) return places;
  }
  return keras_places(models.front());
}

std::string keras_optimizer_place(std::size_t number) {
  return variable_place("optimizer", number);
}

std::string keras_inner_optimizer_place(std::size_t number) {
  return variable_place("optimizer/inner_optimizer", number);
}

std::size_t count_keras_optimizer_variables(const TensorFile& file) {
  std::size_t count = 0;
  while (find_stored(file.tensors(), keras_optimizer_place(count)) != nullptr) ++count;
  return count;
}

}  // namespace meshwork

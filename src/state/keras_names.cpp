#include "state/keras_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

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

/// The names of the groups around a group or variable: "stage/" of
/// "layers/functional/layers/dense".
std::string names_around(const TensorFile& file, const std::string& inner) {
  std::string names;
  for (std::size_t end = inner.find('/'); end != std::string::npos;
       end = inner.find('/', end + 1)) {
    const auto outer = file.names().find(inner.substr(0, end));
    if (outer != file.names().end()) names += outer->second + "/";
  }
  return names;
}

/// Groups by the names that they and the groups around them have; "" where several have the same.
std::map<std::string, std::string> groups_by_name(const TensorFile& file) {
  std::map<std::string, std::string> groups;
  for (const auto& [group, name] : file.names()) {
    const auto [known, is_new] = groups.emplace(flat_name(names_around(file, group) + name), group);
    if (!is_new) known->second = "";
  }
  return groups;
}

/// "dense" of "layers/dense_3".
std::string kind_of(const std::string& group) {
  const std::string last = group.substr(group.rfind('/') + 1);
  const std::size_t digits = last.find_last_not_of("0123456789");
  const bool is_numbered =
      digits != std::string::npos && digits + 1 < last.size() && last[digits] == '_';
  return is_numbered ? last.substr(0, digits) : last;
}

/// Whether Keras has named a group itself, by its class and how many of it were made before.
bool is_automatic(const std::string& group, const std::string& name) {
  return kind_of(name) == kind_of(group);
}

/// The variables that names of layers place.
struct NamedPlaces {
  Places all;     ///< of all layers that have a group of their names
  Places chosen;  ///< of those whose name somebody has chosen, of the same class
  bool are_all_there = true;
  bool are_needed_there = true;  ///< those of layers with a variable that may not keep its value
  bool has_needed = false;
};

NamedPlaces places_by_name(const KerasModel& model, const TensorFile& file,
                           const MayKeep& may_keep) {
  const std::map<std::string, std::string> groups = groups_by_name(file);
  NamedPlaces named;
  for_each_layer(model.model, "", [&](const KerasLayer& layer, const std::string& /*group*/) {
    if (layer.variables.empty()) return;
    const bool is_needed = !may_keep || !std::ranges::all_of(layer.variables, may_keep);
    named.has_needed = named.has_needed || is_needed;
    const auto group = groups.find(flat_name(layer.path));
    if (group == groups.end() || group->second.empty()) {
      named.are_all_there = false;
      if (is_needed) named.are_needed_there = false;
      return;
    }
    add_places(named.all, layer, group->second);
    const bool is_chosen = kind_of(group->second) == layer.kind &&
                           !is_automatic(group->second, file.names().at(group->second));
    if (is_chosen) add_places(named.chosen, layer, group->second);
  });
  return named;
}

/// How many variables a file has there of the right type, and how many at all.
std::pair<std::size_t, std::size_t> count_found(const Places& places, const TensorFile& file,
                                                const std::vector<GlobalTensor>& weights) {
  std::size_t fitting = 0, found = 0;
  for (const GlobalTensor& weight : weights) {
    const auto place = places.find(weight.path);
    if (place == places.end()) continue;
    const StoredTensor* stored = find_stored(file.tensors(), place->second);
    if (stored == nullptr) continue;
    ++found;
    if (is_same_type(*stored, weight)) ++fitting;
  }
  return {fitting, found};
}

/// By Keras's places, put together as most of the variables are found; the first of equals.
Places places_by_order(const std::vector<KerasModel>& models, const TensorFile& file,
                       const std::vector<GlobalTensor>& weights) {
  Places best = keras_places(models.front());
  auto most = count_found(best, file, weights);
  for (std::size_t i = 1; i < models.size(); ++i) {
    Places places = keras_places(models[i]);
    const auto count = count_found(places, file, weights);
    if (count <= most) continue;
    most = count;
    best = std::move(places);
  }
  return best;
}

/// Whether a name gives a variable another place than the order does.
bool differ(const Places& named, const Places& places) {
  return std::ranges::any_of(named, [&](const auto& place) {
    const auto other = places.find(place.first);
    return other != places.end() && other->second != place.second;
  });
}

/// The layer, or part of one, that has a variable: "layers/dense" of "layers/dense/vars/0".
std::string group_of(const std::string& place) { return place.substr(0, place.rfind("/vars/")); }

/// Puts variables where their layers' names are. One whose layer in the order is another's then is
/// not in the file: it stands under its path, which no file of Keras has.
void prefer(const Places& named, Places& places) {
  std::set<std::string> taken;
  for (const auto& [path, place] : named) taken.insert(group_of(place));
  for (auto& [path, place] : places) {
    const auto by_name = named.find(path);
    if (by_name != named.end()) {
      place = by_name->second;
    } else if (taken.contains(group_of(place))) {
      place = path;
    }
  }
}

/// Says which layers take weights of layers with chosen names that are not theirs. "": none.
std::string note_of_order(const KerasModel& model, const TensorFile& file,
                          const std::vector<GlobalTensor>& weights, const Places& places,
                          const std::function<bool(const std::string&)>& is_asked) {
  std::set<std::string> fitting;
  for (const GlobalTensor& weight : weights) {
    if (count_found(places, file, {weight}).first > 0) fitting.insert(weight.path);
  }
  std::string first;
  std::size_t count = 0;
  for_each_layer(model.model, "", [&](const KerasLayer& layer, const std::string& /*group*/) {
    if (layer.variables.empty() || !is_asked(layer.variables.front())) return;
    if (!fitting.contains(layer.variables.front())) return;
    std::string group = group_of(places.at(layer.variables.front()));
    const std::string inner = part_of(layer, layer.variables.front());
    if (!inner.empty()) group = group.substr(0, group.size() - part_group(layer, "", inner).size());
    const auto name = file.names().find(group);
    if (name == file.names().end() || is_automatic(group, name->second)) return;
    if (flat_name(layer.path).ends_with(flat_name(name->second))) return;
    if (count++ == 0) first = fmt::format("'{}' takes those of '{}'", layer.path, name->second);
  });
  if (count == 0) return "";
  const std::string more = count > 1 ? fmt::format(", and {} more", count - 1) : "";
  return fmt::format(
      "{}: reads weights by the order of layers where names differ: {}{}; give layers the names of "
      "the file to be sure",
      file.name(), first, more);
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

Places find_keras_places(const std::vector<KerasModel>& models, const TensorFile& file,
                         const std::vector<GlobalTensor>& weights, const MayKeep& may_keep,
                         std::string* note) {
  NamedPlaces named = places_by_name(models.front(), file, may_keep);
  if (named.are_all_there) return std::move(named.all);
  Places places = places_by_order(models, file, weights);
  const bool are_sure = named.has_needed && named.are_needed_there;
  const Places& sure = are_sure ? named.all : named.chosen;
  const bool is_mixed = differ(sure, places);
  if (is_mixed) prefer(sure, places);
  if (note == nullptr) return places;
  *note = note_of_order(models.front(), file, weights, places, [&](const std::string& path) {
    return is_mixed || (may_keep && may_keep(path));
  });
  return places;
}

std::string name_of_place(const TensorFile& file, const std::string& place) {
  return names_around(file, place) + place.substr(place.rfind("vars/"));
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

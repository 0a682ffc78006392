#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "config/lookup.h"

namespace meshwork {

using Json = nlohmann::ordered_json;

/// The end of an error on what a .keras file has no words for.
inline constexpr const char* kKerasRemedy = "export a .weights.h5, which holds the weights alone";

/// Keras's form of an object that it makes from a class and its arguments.
Json object_of(std::string_view module, std::string_view class_name, Json arguments);

Json json_of(const config::Value& value);

Json arguments_of(const config::ClassSpec& spec);
bool has_arguments(const config::ClassSpec& spec);

/// Activations that Keras has as layers, too, and what these are called.
const std::map<std::string_view, std::string_view>& activation_layers();

/// A class of one of our registries, whose first spelling is Keras's name of it.
template <class Def>
Json object_of(std::string_view module, const std::vector<const Def*>& registry,
               const config::ClassSpec& spec, std::string_view what) {
  const Def& def = config::look_up(registry, spec, what);
  return object_of(module, def.names.front(), arguments_of(spec));
}

}  // namespace meshwork

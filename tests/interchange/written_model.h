#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "interchange/keras_config.h"
#include "interchange/keras_model.h"
#include "support/errors.h"

/// The config.json that is written of a configuration.
namespace meshwork::written {

using Json = nlohmann::json;

inline Json config_of(const std::string& text) {
  const config::Config config = config::parse_config(text, "c.yaml", {});
  return Json::parse(keras_config(config, predicting_program(config)));
}

inline std::string error_of(const std::string& text) {
  return test::error_of([&] { config_of(text); });
}

inline const Json& layer(const Json& model, std::string_view name) {
  for (const Json& candidate : model.at("config").at("layers")) {
    if (candidate.at("name") == name) return candidate;
  }
  throw std::invalid_argument(std::string(name));
}

/// Layer and use whose output is the argument `i` of a use.
inline Json taken(const Json& layer, std::size_t use, std::size_t i) {
  const Json& argument = layer.at("inbound_nodes").at(use).at("args").at(0);
  const Json& tensor = argument.is_array() ? argument.at(i) : argument;
  CHECK(tensor.at("class_name") == "__keras_tensor__");
  return tensor.at("config").at("keras_history");
}

}  // namespace meshwork::written

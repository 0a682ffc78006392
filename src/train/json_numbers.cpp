#include "train/json_numbers.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace meshwork {

Json number_to_json(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return text == "inf" ? HUGE_VAL : -HUGE_VAL;
}

Json number_to_json(const std::optional<double>& value) {
  return value ? number_to_json(*value) : Json();
}

std::optional<double> optional_number_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return number_of(json);
}

Json logs_to_json(const Logs& logs) {
  Json json = Json::object();
  for (const auto& [name, value] : logs) json[name] = number_to_json(value);
  return json;
}

Logs logs_of(const Json& json) {
  Logs logs;
  for (const auto& [name, value] : json.items()) logs[name] = number_of(value);
  return logs;
}

}  // namespace meshwork

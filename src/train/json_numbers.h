#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "train/logs.h"

namespace meshwork {

using Json = nlohmann::json;

/// A number in JSON and back, to the last bit. Those that are not finite are texts there: "nan".
Json number_to_json(double value);
double number_of(const Json& json);

/// The same for a number that may be missing: null.
Json number_to_json(const std::optional<double>& value);
std::optional<double> optional_number_of(const Json& json);

Json logs_to_json(const Logs& logs);
Logs logs_of(const Json& json);

}  // namespace meshwork

#include "interchange/from_keras/compile.h"

#include "config/yaml.h"
#include "interchange/from_keras/values.h"
#include "model/metrics/metric.h"

namespace meshwork::from_keras {
namespace {

using config::Value;

/// What optimizers, losses and metrics say and leave as it is.
void remove_defaults(Value& value) {
  for (Value& item : value.list) remove_defaults(item);
  if (!value.is_map()) return;
  if (const auto* ema = value.find("use_ema"); ema != nullptr && ema->value.scalar == "false") {
    for (const char* key : {"use_ema", "ema_momentum"}) value.take(key);
  }
  if (const auto* sum = value.find("reduction");
      sum != nullptr && sum->value.scalar == "sum_over_batch_size") {
    value.take("reduction");
  }
  value.take("dtype");
  for (Value::Entry& entry : value.map) remove_defaults(entry.value);
}

/// Metrics, each with the name that Keras logs it under, where that is another one here.
Value metrics_of(const Json& json) {
  Value value;
  if (json.is_array()) {
    value.kind = Value::Kind::kList;
    for (const Json& one : json) value.list.push_back(metrics_of(one));
    return value;
  }
  if (json.is_object() && !is_object(json)) {
    value.kind = Value::Kind::kMap;
    for (const auto& [key, one] : json.items()) value.insert(key, {}).value = metrics_of(one);
    return value;
  }
  const std::string name = is_object(json) ? json.at("class_name").get<std::string>() : "";
  const std::string logged = logged_name(name);
  if (logged.empty()) return value_of(json);
  Value& args = value.insert(name, {}).value;
  args = arguments_of(json, {"dtype"});
  if (const auto* given = args.find("name"); given != nullptr && given->value.scalar == logged) {
    args.take("name");
  }
  return value;
}

bool is_missing(const Json& json) { return json.is_null() || (json.is_array() && json.empty()); }

}  // namespace

std::string compile_text(const Json& model, bool with_metrics) {
  const Json compile = model.value("compile_config", Json());
  if (!compile.is_object() || !compile.contains("optimizer")) return {};
  std::string text = "compile:\n";
  for (const char* key : {"optimizer", "loss", "loss_weights", "metrics", "weighted_metrics"}) {
    const Json given = compile.value(key, Json());
    const bool is_of_metrics = std::string_view(key).ends_with("metrics");
    if (is_missing(given) || (is_of_metrics && !with_metrics)) continue;
    Value value = is_of_metrics ? metrics_of(given) : value_of(given);
    remove_defaults(value);
    text += std::string("  ") + key + ": " + config::to_line(value) + "\n";
  }
  return text;
}

}  // namespace meshwork::from_keras

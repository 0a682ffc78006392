#include "interchange/from_keras/compile.h"

#include "config/yaml.h"
#include "interchange/from_keras/values.h"

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

bool is_missing(const Json& json) { return json.is_null() || (json.is_array() && json.empty()); }

}  // namespace

std::string compile_text(const Json& model) {
  const Json compile = model.value("compile_config", Json());
  if (!compile.is_object() || !compile.contains("optimizer")) return {};
  std::string text = "compile:\n";
  for (const char* key : {"optimizer", "loss", "loss_weights", "metrics", "weighted_metrics"}) {
    const Json given = compile.value(key, Json());
    if (is_missing(given)) continue;
    Value value = value_of(given);
    remove_defaults(value);
    text += std::string("  ") + key + ": " + config::to_line(value) + "\n";
  }
  return text;
}

}  // namespace meshwork::from_keras

#include <algorithm>

#include "base/nearest.h"
#include "config/sections.h"

namespace meshwork::config {
namespace {

std::vector<std::string> names_of(const std::vector<OutputSpec>& outputs) {
  std::vector<std::string> names;
  for (const OutputSpec& output : outputs) names.push_back(output.name);
  return names;
}

void check_are_outputs(const Value& map, const std::vector<std::string>& outputs,
                       std::string_view what) {
  for (const Value::Entry& entry : map.map) {
    if (std::find(outputs.begin(), outputs.end(), entry.key) != outputs.end()) continue;
    fail_at(entry.at, "{}: the model has no output '{}'{}", what, entry.key,
            suggestion(entry.key, outputs));
  }
}

/// Whether a map goes by the names of outputs; if one of its keys is such, all must be.
bool goes_by_output(const Value& value, const std::vector<std::string>& outputs,
                    std::string_view what) {
  const auto is_output = [&](const Value::Entry& entry) {
    return std::find(outputs.begin(), outputs.end(), entry.key) != outputs.end();
  };
  if (!std::any_of(value.map.begin(), value.map.end(), is_output)) return false;
  check_are_outputs(value, outputs, what);
  return true;
}

/// What a value means that is neither a map by output nor a list in the order of the outputs.
enum class Alone { kForAll, kRefused };

/// What `value` gives to each output, null for those that it passes over.
std::vector<Value> by_output(const Value& value, const std::vector<std::string>& outputs,
                             std::string_view what, Alone alone) {
  std::vector<Value> result(outputs.size());
  if (goes_by_output(value, outputs, what)) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (const Value::Entry* entry = value.find(outputs[i])) result[i] = entry->value;
    }
    return result;
  }
  const bool is_wrong_list = outputs.size() == 1 && value.list.size() != 1;
  if (value.is_list() && !is_wrong_list) {
    if (value.list.size() != outputs.size()) {
      fail_at(value.at,
              "{} has {} entries, but the model has {} outputs; give one for each, or a "
              "map by their names",
              what, value.list.size(), outputs.size());
    }
    return value.list;
  }
  if (alone == Alone::kRefused) {
    fail_at(value.at,
            "{} must be a map by the names of the {} outputs, such as {{{}: ..}}, or a "
            "list in their order",
            what, outputs.size(), outputs[0]);
  }
  std::fill(result.begin(), result.end(), value);
  return result;
}

std::vector<ClassSpec> read_metric_list(const Value& metrics) {
  std::vector<ClassSpec> result;
  if (metrics.is_null()) return result;
  if (!metrics.is_list()) return {read_class(metrics, "metric")};
  for (const Value& metric : metrics.list) result.push_back(read_class(metric, "metric"));
  return result;
}

/// The same for metrics, a list of which belongs to the only output of most models.
std::vector<std::vector<ClassSpec>> read_metrics(const Value* metrics, const char* key,
                                                 const std::vector<std::string>& outputs) {
  std::vector<std::vector<ClassSpec>> result(outputs.size());
  if (metrics == nullptr) return result;
  if (outputs.size() == 1 && !goes_by_output(*metrics, outputs, key)) {
    return {read_metric_list(*metrics)};
  }
  const std::vector<Value> given = by_output(*metrics, outputs, key, Alone::kRefused);
  for (std::size_t i = 0; i < outputs.size(); ++i) result[i] = read_metric_list(given[i]);
  return result;
}

void read_losses(const Value& loss, const std::vector<std::string>& outputs, CompileSpec& spec) {
  const std::vector<Value> given = by_output(loss, outputs, "loss", Alone::kForAll);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ObjectiveSpec& objective = spec.objectives[i];
    if (given[i].is_null()) continue;
    objective.loss = read_class(given[i], "loss");
    objective.at = objective.loss->at;
  }
  const auto first = std::find_if(spec.objectives.begin(), spec.objectives.end(),
                                  [](const ObjectiveSpec& o) { return o.loss.has_value(); });
  if (first != spec.objectives.end()) spec.loss = first->loss;
}

void read_weights(const Value* weights, const std::vector<std::string>& outputs,
                  CompileSpec& spec) {
  if (weights == nullptr) return;
  const Alone alone = outputs.size() == 1 ? Alone::kForAll : Alone::kRefused;
  check_are_outputs(*weights, outputs, "loss_weights");
  const std::vector<Value> given = by_output(*weights, outputs, "loss_weights", alone);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ObjectiveSpec& objective = spec.objectives[i];
    if (given[i].is_null()) continue;
    objective.weight = given[i].as_real("loss_weights");
    if (!objective.loss) {
      fail_at(given[i].at, "loss_weights: output '{}' has no loss to be weighted", outputs[i]);
    }
  }
}

void read_labels(const Value* labels, const std::vector<std::string>& outputs, CompileSpec& spec) {
  if (labels == nullptr) return;
  const Alone alone = outputs.size() == 1 ? Alone::kForAll : Alone::kRefused;
  check_are_outputs(*labels, outputs, "labels");
  const std::vector<Value> given = by_output(*labels, outputs, "labels", alone);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (given[i].is_null()) continue;
    spec.objectives[i].label = given[i].as_string("labels");
    spec.objectives[i].label_at = given[i].at;
    if (spec.objectives[i].label.empty()) {
      fail_at(given[i].at, "labels: the name of a field of the data is empty");
    }
  }
}

/// How Keras runs steps, which changes no numbers.
void refuse_ways_to_run(Reader& reader) {
  for (const char* key : {"jit_compile", "run_eagerly", "steps_per_execution"}) {
    if (const Value* value = reader.find_refused(key)) {
      fail_at(value->at,
              "compile: {} is how Keras runs steps, and changes no numbers; leave it out", key);
    }
  }
}

/// What Keras's compile() does under mixed_float16, whose small gradients would round to 0.
ClassSpec with_scaled_loss(const ClassSpec& optimizer) {
  if (same_class(optimizer.name, kLossScaleOptimizer)) return optimizer;
  ClassSpec scaled{std::string(kLossScaleOptimizer), {}, optimizer.at};
  scaled.args.at = optimizer.at;
  Value& inner = scaled.args.insert("inner_optimizer", optimizer.at).value;
  inner.at = optimizer.at;
  inner.insert(optimizer.name, optimizer.at).value = optimizer.args;
  return scaled;
}

}  // namespace

CompileSpec read_compile(const Value& compile, const ModelSpec& model, Precision precision) {
  Reader reader(compile, "compile");
  CompileSpec spec;
  spec.at = compile.at;
  spec.optimizer.name = "rmsprop";
  spec.optimizer.at = spec.optimizer.args.at = compile.at;
  if (const Value* optimizer = reader.find("optimizer")) {
    spec.optimizer = read_class(*optimizer, "optimizer");
  }
  const bool scales_loss = reader.get("auto_scale_loss", true);
  if (scales_loss && precision == Precision::kMixedFloat16) {
    spec.optimizer = with_scaled_loss(spec.optimizer);
  }
  const Value* metrics = reader.find("metrics");
  const Value* weighted_metrics = reader.find("weighted_metrics");
  const Value* weights = reader.find("loss_weights");
  const Value* labels = reader.find("labels");
  const Value* loss = reader.find("loss");
  refuse_ways_to_run(reader);
  reader.finish();
  const std::vector<std::string> outputs = names_of(model.outputs);
  for (const std::string& output : outputs) {
    spec.objectives.push_back({output, {}, 1, {}, {}, {}, compile.at, compile.at});
  }
  if (loss != nullptr) read_losses(*loss, outputs, spec);
  read_weights(weights, outputs, spec);
  read_labels(labels, outputs, spec);
  const auto by_name = read_metrics(metrics, "metrics", outputs);
  const auto weighted = read_metrics(weighted_metrics, "weighted_metrics", outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    spec.objectives[i].metrics = by_name[i];
    spec.objectives[i].weighted_metrics = weighted[i];
  }
  return spec;
}

}  // namespace meshwork::config

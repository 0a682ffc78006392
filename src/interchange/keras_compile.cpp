#include "interchange/keras_compile.h"

#include <algorithm>
#include <set>

#include "model/losses/loss.h"
#include "model/metrics/metric.h"
#include "optim/loss_scale.h"
#include "optim/optimizer.h"
#include "optim/schedules/schedule.h"

namespace meshwork {
namespace {

Json optimizer_of(const config::ClassSpec& spec) {
  Json arguments = arguments_of(spec);
  arguments.erase("exclude_from_weight_decay");  // in Keras a call, which its files leave out, too
  if (scales_losses(spec)) {
    const LossScaling scaling = read_loss_scaling(spec);
    arguments["inner_optimizer"] = optimizer_of(scaling.inner);
    return object_of("keras.optimizers", config::kLossScaleOptimizer, std::move(arguments));
  }
  if (const std::optional<config::ClassSpec> schedule = schedule_of(spec)) {
    arguments["learning_rate"] =
        object_of("keras.optimizers.schedules", schedule_registry(), *schedule, "schedule");
  }
  return object_of("keras.optimizers", state_of(spec, {}).class_name, std::move(arguments));
}

/// A word, or an object where it has arguments or Keras's `get` does not know the word.
Json loss_of(const std::optional<config::ClassSpec>& spec) {
  static const std::set<std::string_view> kNoWords{"kullback_leibler_divergence", "logcosh",
                                                   "CategoricalGeneralizedCrossEntropy",
                                                   "categorical_generalized_cross_entropy"};
  if (!spec) return nullptr;
  const bool is_word = !has_arguments(*spec) && !kNoWords.contains(spec->name);
  if (is_word) return spec->name;
  return object_of("keras.losses", loss_registry(), *spec, "loss");
}

bool is_class(const config::ClassSpec& spec, const std::vector<std::string_view>& names) {
  return spec.args.is_map() && spec.name == names[0];
}

/// One that Keras would log under another name takes that of our logs.
Json named_metric(const config::ClassSpec& spec, const std::vector<std::string_view>& names,
                  std::string_view class_name) {
  Json arguments = arguments_of(spec);
  arguments.emplace("name", is_class(spec, names) ? names[1] : std::string_view(spec.name));
  return object_of("keras.metrics", class_name, std::move(arguments));
}

/// Of a loss as a metric; Keras's `get` knows some words.
Json metric_of_loss(const config::ClassSpec& spec, const LossDef& loss) {
  static const std::set<std::string_view> kNoWords{"kld", "KLD", "kullback_leibler_divergence",
                                                   "LogCosh", "log_cosh"};
  const auto& [class_name, known] = loss.metric;
  if (class_name.empty()) {
    config::fail_at(spec.at, "a .keras file has no word for '{}' as a metric; {}", spec.name,
                    kKerasRemedy);
  }
  if (spec.args.is_null() && !kNoWords.contains(spec.name)) return spec.name;
  for (const auto& [key, at, value] : spec.args.map) {
    if (key == "name" || std::find(known.begin(), known.end(), key) != known.end()) continue;
    config::fail_at(at, "a .keras file has no word for '{}' of the metric '{}'; {}", key, spec.name,
                    kKerasRemedy);
  }
  return named_metric(spec, loss.names, class_name);
}

/// A word alone stands for one of Keras's own.
Json metric_of(const config::ClassSpec& spec) {
  static const std::set<std::string_view> kNoWords{"logcosh"};
  if (const MetricDef* def = config::find_named(metric_registry(), spec.name)) {
    if (kNoWords.contains(spec.name)) return named_metric(spec, def->names, def->names.front());
    const bool is_word = !has_arguments(spec) && def->module.starts_with("keras.");
    if (is_word) return spec.name;
    return object_of(def->module, def->names.front(), arguments_of(spec));
  }
  const LossDef* loss = config::find_named(loss_registry(), spec.name);
  if (loss == nullptr) config::look_up(metric_registry(), spec, "metric");  // names the nearest
  return metric_of_loss(spec, *loss);
}

Json metrics_of(const std::vector<config::ClassSpec>& specs) {
  Json metrics = Json::array();
  for (const config::ClassSpec& spec : specs) metrics.push_back(metric_of(spec));
  return metrics;
}

/// What is said of each output: that of the only one, or a map by the names of their layers.
template <class Say>
Json of_outputs(const config::Config& config, const std::vector<std::string>& outputs,
                const Say& say) {
  const std::vector<config::ObjectiveSpec>& objectives = config.compile->objectives;
  if (objectives.size() == 1) return say(objectives.front());
  Json all = Json::object();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const auto [entry, is_new] = all.emplace(outputs.at(i), say(objectives[i]));
    if (is_new) continue;
    config::fail_at(config.model.outputs.at(i).at,
                    "two outputs are of layer '{}', which a .keras file cannot say; {}",
                    entry.key(), kKerasRemedy);
  }
  return all;
}

}  // namespace

Json keras_compile_config(const config::Config& config, const std::vector<std::string>& outputs) {
  using Objective = config::ObjectiveSpec;
  const auto say = [&](const auto& what) { return of_outputs(config, outputs, what); };
  Json compile{{"optimizer", optimizer_of(config.compile->optimizer)},
               {"loss", say([](const Objective& of) { return loss_of(of.loss); })}};
  if (config.compile->objectives.size() > 1) {
    compile["loss_weights"] = say([](const Objective& of) { return Json(of.weight); });
  }
  compile["metrics"] = say([](const Objective& of) { return metrics_of(of.metrics); });
  compile["weighted_metrics"] =
      say([](const Objective& of) { return metrics_of(of.weighted_metrics); });
  return compile;
}

}  // namespace meshwork

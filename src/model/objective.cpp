#include "model/objective.h"

#include <map>

#include "base/names.h"
#include "base/nearest.h"
#include "model/field_value.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// Every name in the logs once.
void check_names(const std::vector<Objective>& objectives) {
  std::map<std::string, config::Location> seen;
  const auto add = [&](const std::string& name, const config::Location& at,
                       const std::string& what) {
    const auto [other, is_new] = seen.emplace(name, at);
    if (is_new) return;
    fail_at(at, "{}: '{}' is logged for what stands at {} already; give it another 'name'", what,
            name, to_string(other->second));
  };
  for (const Objective& objective : objectives) {
    if (!objective.loss_name.empty() && objective.loss) {
      add(objective.loss_name, objective.at, objective.loss->what);
    }
  }
  for (const Objective& objective : objectives) {
    for (const Metric& metric : objective.metrics) add(metric.name, metric.at, metric.what);
    for (const Metric& metric : objective.weighted_metrics) {
      add(metric.name, metric.at, metric.what);
    }
  }
}

/// Whether the output is compared with labels at all.
bool is_compared(const Objective& objective) {
  return objective.loss || !objective.metrics.empty() || !objective.weighted_metrics.empty();
}

const Field* find_field(const Signature& signature, const std::string& name) {
  if (signature.label && signature.label->name == name) return &*signature.label;
  for (const Field& field : signature.inputs) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

[[noreturn]] void fail_without_labels(const Objective& objective, const Signature& signature,
                                      bool several) {
  std::vector<std::string> known;
  if (signature.label) known.push_back(signature.label->name);
  for (const Field& field : signature.inputs) known.push_back(field.name);
  if (!objective.label.empty()) {
    fail_at(objective.label_at, "labels: the dataset has no field '{}'{}", objective.label,
            suggestion(objective.label, known));
  }
  const std::string what = objective.loss              ? objective.loss->what
                           : objective.metrics.empty() ? objective.weighted_metrics.front().what
                                                       : objective.metrics.front().what;
  if (!several) fail_at(objective.at, "{} needs labels, and the dataset gives none", what);
  fail_at(objective.at,
          "{} needs labels for output '{}', and the dataset has neither a field of that name nor "
          "'y'{}; name one in compile: labels: {{{}: ..}}",
          what, objective.output, suggestion(objective.output, known), objective.output);
}

/// Adds "<name>/total" and "<name>/count", from which the mean over the samples of an epoch is
/// made.
void add_loss_mean(GraphBuilder& b, const std::string& name, ValueId loss, std::int64_t batch) {
  const PathScope path(b, name);
  const auto samples = static_cast<double>(batch);
  b.graph().outputs.push_back({name + names::kTotal, ops::scale(b, loss, samples)});
  b.graph().outputs.push_back({name + names::kCount, ops::constant(b, samples)});
}

void note_twice_applied(const GraphBuilder& b, const Loss& loss, ValueId predictions,
                        std::vector<std::string>* notes) {
  const Node* source = source_of_probabilities(b.graph(), predictions);
  if (notes == nullptr || !loss.takes_logits || source == nullptr) return;
  notes->push_back(fmt::format(
      "{}: {} takes logits (from_logits: true), but '{}' gives probabilities, by {}; leave out one "
      "of the two",
      config::to_string(loss.at), loss.what, source->path, source->op->name));
}

}  // namespace

std::vector<Objective> read_objectives(const config::Config& config) {
  const config::CompileSpec& compile = *config.compile;
  const bool several = compile.objectives.size() > 1;
  if (several && config.fit.class_weight) {
    fail_at(config.fit.class_weight->at,
            "class_weight is for a model of one output, as in Keras, and this one has {}; give the "
            "data a field sample_weight",
            compile.objectives.size());
  }
  std::vector<Objective> result;
  for (const config::ObjectiveSpec& spec : compile.objectives) {
    Objective objective;
    if (spec.loss) objective.loss = read_loss(*spec.loss);
    objective.weight = spec.weight;
    objective.metrics = read_metrics(spec.metrics);
    objective.weighted_metrics = read_metrics(spec.weighted_metrics, objective.metrics);
    objective.output = spec.output;
    objective.label = spec.label;
    objective.label_at = spec.label_at;
    objective.at = spec.at;
    if (several) {
      objective.loss_name = spec.output + "_loss";
      for (auto* metrics : {&objective.metrics, &objective.weighted_metrics}) {
        for (Metric& metric : *metrics) metric.name = spec.output + "_" + metric.name;
      }
    }
    result.push_back(std::move(objective));
  }
  check_names(result);
  return result;
}

std::vector<std::optional<Field>> label_fields(const std::vector<Objective>& objectives,
                                               const Signature& signature) {
  std::vector<std::optional<Field>> result;
  for (const Objective& objective : objectives) {
    result.emplace_back();
    if (!is_compared(objective)) continue;
    const bool several = objectives.size() > 1;
    const Field* field = nullptr;
    if (!objective.label.empty()) {
      field = find_field(signature, objective.label);
    } else {
      // The only output has the only label, whatever it is called.
      if (!several && signature.label) field = &*signature.label;
      if (field == nullptr) field = find_field(signature, objective.output);
      if (field == nullptr && signature.label) field = &*signature.label;
    }
    if (field == nullptr) fail_without_labels(objective, signature, several);
    result.back() = *field;
  }
  return result;
}

std::map<std::string, ClassRange> class_ranges(GraphBuilder& b, const config::Config& config,
                                               const Signature& signature,
                                               const std::vector<Prediction>& predictions) {
  const std::vector<Objective> objectives = read_objectives(config);
  const auto fields = label_fields(objectives, signature);
  std::map<std::string, ClassRange> ranges;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const std::optional<Loss>& loss = objectives[i].loss;
    if (!fields[i] || !loss) continue;
    const ValueId labels = field_value(b, *fields[i], 1);
    const Compared compared =
        loss->compare({b, labels, predictions[i].value, loss->at, loss->what});
    if (compared.classes) ranges[fields[i]->name] = *compared.classes;
  }
  return ranges;
}

void add_objectives(GraphBuilder& b, const config::Config& config, const Signature& signature,
                    Mode mode, std::int64_t batch, const std::vector<Prediction>& predictions,
                    const std::vector<ValueId>& penalties, std::vector<std::string>* notes) {
  const std::vector<Objective> objectives = read_objectives(config);
  const auto fields = label_fields(objectives, signature);
  std::vector<ValueId> labels(objectives.size(), kNoValue);
  std::vector<ValueId> weights(objectives.size(), kNoValue);
  std::vector<ValueId> losses(objectives.size(), kNoValue);
  ValueId sum = kNoValue;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    if (!fields[i]) continue;
    labels[i] = field_value(b, *fields[i], batch);
    weights[i] = add_sample_weights(b, config, signature, mode, labels[i], predictions[i].value);
    const Objective& objective = objectives[i];
    if (!objective.loss) continue;
    note_twice_applied(b, *objective.loss, predictions[i].value, notes);
    losses[i] = add_loss(b, *objective.loss, labels[i], predictions[i], weights[i],
                         objective.loss_name.empty() ? names::kLoss : objective.loss_name);
    const PathScope path(b, names::kLoss);
    const ValueId weighted =
        objective.weight == 1 ? losses[i] : ops::scale(b, losses[i], objective.weight);
    sum = sum == kNoValue ? weighted : ops::add(b, sum, weighted);
  }
  for (const ValueId penalty : penalties) {
    const PathScope path(b, names::kLoss);
    sum = sum == kNoValue ? penalty : ops::add(b, sum, penalty);
  }
  if (sum == kNoValue) sum = ops::constant(b, 0.0);
  b.graph().outputs.push_back({names::kLoss, sum});
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const Objective& objective = objectives[i];
    const bool own = losses[i] != kNoValue && !objective.loss_name.empty();
    if (own) add_loss_mean(b, objective.loss_name, losses[i], batch);
    for (const Metric& metric : objective.metrics) {
      add_metric(b, metric, labels[i], predictions[i]);
    }
    for (const Metric& metric : objective.weighted_metrics) {
      add_metric(b, metric, labels[i], predictions[i], weights[i]);
    }
  }
}

}  // namespace meshwork

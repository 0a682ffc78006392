#include "model/model.h"

#include <cmath>

#include "base/names.h"
#include "model/decoder.h"
#include "model/input_fields.h"
#include "model/layer_graph.h"
#include "model/objective.h"

namespace meshwork {
namespace {

/// `penalties`: what the model adds to the loss in training.
void check_has_loss(const config::CompileSpec& compile, const std::vector<ValueId>& penalties) {
  if (compile.loss || !penalties.empty()) return;
  fail_at(compile.at,
          "compile needs a loss, for nothing in the model adds to it; name one, such as loss: mse, "
          "or put a layer AddLoss behind what is to be small");
}

void add_objective(GraphBuilder& b, const config::Config& config, const Signature& signature,
                   Mode mode, std::int64_t batch, const std::vector<Prediction>& predictions,
                   const std::vector<ValueId>& penalties, ModelFacts* facts) {
  if (!config.compile) {
    fail_at(config.model.at, "nothing says what to train for; add the key 'compile' with a loss");
  }
  if (mode == Mode::kTrain) check_has_loss(*config.compile, penalties);
  add_objectives(b, config, signature, mode, batch, predictions, penalties,
                 facts == nullptr ? nullptr : &facts->notes);
}

}  // namespace

std::string prediction_name(const config::ModelSpec& model, std::size_t output) {
  if (model.outputs.size() == 1) return names::kPrediction;
  return model.outputs[output].name + "/" + names::kPrediction;
}

Graph build_model(const config::Config& config, const Signature& signature, Mode mode,
                  std::int64_t batch, ModelFacts* facts) {
  if (mode == Mode::kDecode) return build_decoder(config, signature, batch, facts);
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, config.seed, mode == Mode::kTrain);
  const std::vector<ModelInput> inputs =
      add_inputs(b, config.model, signature, label_names(config), batch);
  const std::vector<Prediction> predictions = add_layers(
      scope, config.model, config.precision, inputs, facts == nullptr ? nullptr : &facts->notes);
  if (facts != nullptr) facts->absent = scope.absent();
  if (predictions.size() == 1)
    graph.layer_outputs.push_back({names::kPrediction, predictions[0].value});
  if (mode == Mode::kPredict) {
    for (std::size_t i = 0; i < predictions.size(); ++i) {
      graph.outputs.push_back({prediction_name(config.model, i), predictions[i].value});
    }
  } else {
    add_objective(b, config, signature, mode, batch, predictions, scope.add_penalties(), facts);
  }
  return graph;
}

std::map<std::string, ClassRange> class_ranges(const config::Config& config,
                                               const Signature& signature) {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, config.seed, false);
  const std::vector<ModelInput> inputs =
      add_inputs(b, config.model, signature, label_names(config), 1);
  return class_ranges(b, config, signature,
                      add_layers(scope, config.model, config.precision, inputs));
}

Signature stated_signature(const config::ModelSpec& model) {
  Signature signature;
  for (const config::InputSpec& input : model.inputs) {
    signature.inputs.push_back({input.name, DType::kFloat32, input.shape});
  }
  return signature;
}

void check_compile(const config::Config& config) {
  if (!config.compile) return;
  read_objectives(config);
  if (config.compile->loss) return;
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, config.seed, true);
  const std::vector<ModelInput> inputs =
      add_inputs(b, config.model, stated_signature(config.model), label_names(config), 1);
  add_layers(scope, config.model, config.precision, inputs);
  check_has_loss(*config.compile, scope.add_penalties());
}

double LoggedValue::of(std::span<const double> sums) const {
  if (of_counts) return of_counts(sums);
  if (sums[1] == 0) return 0;
  const double mean = sums[0] / sums[1];
  if (result == MetricResult::kExpOfMean) return std::exp(mean);
  return result == MetricResult::kRootOfMean ? std::sqrt(mean) : mean;
}

std::vector<LoggedValue> logged_values(const config::Config& config) {
  std::vector<LoggedValue> values{{names::kLoss, false}};
  for (const Objective& objective : read_objectives(config)) {
    if (objective.loss && !objective.loss_name.empty()) {
      values.push_back({objective.loss_name, false});
    }
    for (const auto* metrics : {&objective.metrics, &objective.weighted_metrics}) {
      for (const Metric& metric : *metrics) {
        values.push_back(
            {metric.name, metric.greater_is_better, metric.result, metric.counting.result});
      }
    }
  }
  return values;
}

}  // namespace meshwork

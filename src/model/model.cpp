#include "model/model.h"

#include "model/layer_graph.h"
#include "model/losses/loss.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// Adds loss and metrics as outputs.
void add_objective(GraphBuilder& b, const config::Config& config, const Signature& signature,
                   Mode mode, std::int64_t batch, ValueId predictions) {
  if (!config.compile) {
    fail_at(config.model.at, "nothing says what to train for; add the key 'compile' with a loss");
  }
  const config::CompileSpec& compile = *config.compile;
  if (!signature.label) {
    fail_at(compile.loss.at, "loss {} needs labels, and the dataset gives none", compile.loss.name);
  }
  const Loss loss = read_loss(compile.loss);
  const std::vector<Metric> metrics = read_metrics(compile.metrics);
  Shape shape = signature.label->shape;
  shape.insert(shape.begin(), batch);
  const ValueId labels = ops::input(b, signature.label->name, {signature.label->dtype, shape});
  const ValueId weights = add_sample_weights(b, config, signature, mode, labels, predictions);
  b.graph().outputs.push_back({"loss", add_loss(b, loss, labels, predictions, weights)});
  for (const Metric& metric : metrics) add_metric(b, metric, labels, predictions);
  for (const Metric& metric : read_weighted_metrics(compile.weighted_metrics, metrics)) {
    add_metric(b, metric, labels, predictions, weights);
  }
}

}  // namespace

Graph build_model(const config::Config& config, const Signature& signature, Mode mode,
                  std::int64_t batch) {
  Graph graph;
  GraphBuilder b(graph);
  Scope scope(b, config.seed, mode == Mode::kTrain);
  const std::vector<ModelInput> inputs = add_inputs(b, config.model, signature, batch);
  const ValueId predictions = add_layers(scope, config.model, inputs);
  graph.layer_outputs.push_back({"prediction", predictions});
  if (mode == Mode::kPredict) {
    graph.outputs.push_back({"prediction", predictions});
  } else {
    add_objective(b, config, signature, mode, batch, predictions);
  }
  return graph;
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
  read_loss(config.compile->loss);
  logged_values(*config.compile);
}

std::vector<LoggedValue> logged_values(const config::CompileSpec& compile) {
  const std::vector<Metric> metrics = read_metrics(compile.metrics);
  std::vector<LoggedValue> values{{"loss", false}};
  for (const Metric& metric : metrics) values.push_back({metric.name, metric.greater_is_better});
  for (const Metric& metric : read_weighted_metrics(compile.weighted_metrics, metrics)) {
    values.push_back({metric.name, metric.greater_is_better});
  }
  return values;
}

}  // namespace meshwork

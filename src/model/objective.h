#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/losses/loss.h"
#include "model/metrics/metric.h"
#include "model/model.h"
#include "model/prediction.h"

namespace meshwork {

/// What one output is trained for and judged by, checked.
struct Objective {
  std::optional<Loss> loss;
  double weight = 1;
  std::vector<Metric> metrics;  ///< as they are logged: of one of several outputs, "digit_mae"
  std::vector<Metric> weighted_metrics;
  std::string loss_name;  ///< as it is logged beside the sum: "digit_loss"; "" for one output
  std::string output;
  std::string label;  ///< the field that the file names, or ""
  config::Location label_at;
  config::Location at;
};

/// Reads losses and metrics of all outputs from `compile`, which must be there; names in the logs
/// must be unique. Class weights are for a single output.
std::vector<Objective> read_objectives(const config::Config& config);

/// The fields that hold labels, in the order of the objectives; none for those that have neither
/// loss nor metrics. One that the data does not give is an Error.
std::vector<std::optional<Field>> label_fields(const std::vector<Objective>& objectives,
                                               const Signature& signature);

/// As class_ranges(), of these predictions.
std::map<std::string, ClassRange> class_ranges(GraphBuilder& b, const config::Config& config,
                                               const Signature& signature,
                                               const std::vector<Prediction>& predictions);

/// Adds the outputs of Mode::kTrain and kEvaluate: "loss", the weighted sum and the penalties; of
/// each output with a loss, if there are several, its own; metrics. `notes`, where there are some,
/// are told of what nobody can mean.
void add_objectives(GraphBuilder& b, const config::Config& config, const Signature& signature,
                    Mode mode, std::int64_t batch, const std::vector<Prediction>& predictions,
                    const std::vector<ValueId>& penalties, std::vector<std::string>* notes);

}  // namespace meshwork

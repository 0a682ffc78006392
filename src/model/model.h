#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/conversion.h"
#include "base/token_mask.h"
#include "config/config.h"
#include "graph/graph.h"

namespace meshwork {

/// How samples are stored of which a program makes what the model reads.
struct StoredField {
  DType dtype = DType::kFloat32;
  /// All samples, where every device has them and a step is given the numbers of rows; 0: a step is
  /// given a batch of them.
  std::int64_t resident = 0;
  Conversion conversion = {};
  Normalization normalization = {};
  std::int64_t classes = 0;  ///< of labels that become one-hot vectors; 0: they do not
  std::optional<TokenMask> mask = {};
};

/// One array of the data, per sample: without the batch dimension.
struct Field {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::optional<StoredField> stored = {};  ///< otherwise than this says
};

/// What labels that are class numbers may be: 0..count-1, or the one that stands for no class.
struct ClassRange {
  std::int64_t count = 0;
  std::optional<std::int64_t> ignored = {};
};

/// What the data gives for each sample.
struct Signature {
  std::vector<Field> inputs;
  std::optional<Field> label;
  std::optional<Field> sample_weight = {};  ///< of each sample in the loss
};

/// kDecode: as build_decoder() says (decoder.h).
enum class Mode { kTrain, kEvaluate, kPredict, kDecode };

/// What a graph does not say of the model.
struct ModelFacts {
  /// Paths of variables and outputs that layers would have under other arguments, and the argument
  /// that leaves each out: "d1/bias", "use_bias: false".
  std::map<std::string, std::string> absent;
  /// For the user: masks that end within the model, probabilities that a loss takes for logits.
  std::vector<std::string> notes;
};

/// The forward program for one global batch.
///
/// Inputs: every field by its name, [batch, shape..] as it is stored, or where all samples are
/// resident an int32 [batch] of rows; and "iteration", an int64 scalar, where a layer draws random
/// numbers. A field goes to the model's input of the same name, or to the only one. Its samples
/// must have the shape that the file states, but for a last dimension of one. Labels are the field
/// "y"; of several outputs each takes the field of its name, or else "y", or the one that the file
/// names.
///
/// Outputs: "loss" and of each metric "<name>/total" and "<name>/count" (kTrain, kEvaluate), or
/// "prediction" (kPredict), which is always among the layer outputs, as are the inputs of the model
/// ("input/output": float32, in the shape that the file states). A model of several outputs also
/// has "<output>_loss/total" and "/count", and predicts "<output>/prediction" for each.
///
/// Throws Error with the place of whatever in the file does not go together.
Graph build_model(const config::Config& config, const Signature& signature, Mode mode,
                  std::int64_t batch, ModelFacts* facts = nullptr);

/// The name of an output of the program that predicts: "prediction", of several outputs
/// "digit/prediction".
std::string prediction_name(const config::ModelSpec& model, std::size_t output);

/// The fields whose labels are class numbers to a loss, and which numbers these may be. Throws what
/// build_model throws.
std::map<std::string, ClassRange> class_ranges(const config::Config& config,
                                               const Signature& signature);

/// A table that an Embedding looks rows up in.
struct TableRows {
  std::int64_t count = 0;
  std::string path;  ///< of the variable
};

/// The fields whose numbers are rows of tables; of several tables that with the fewest.
std::map<std::string, TableRows> table_rows(const config::Config& config, Signature signature);

/// The signature that the file itself states: float32 inputs, no label. For checks without data.
Signature stated_signature(const config::ModelSpec& model);

/// Checks the names and arguments of loss and metrics, without data, and that there is a loss.
void check_compile(const config::Config& config);

/// What is logged of a metric: the mean over samples, each the mean of its values, or its root; the
/// mean over all values that count, or e to the power of it. 0 where none counts.
enum class MetricResult { kMean, kRootOfMean, kMeanOfValid, kExpOfMean };

/// What a metric makes of the sums of what it counts.
using ResultOfCounts = std::function<double(std::span<const double>)>;

/// A number that training logs.
struct LoggedValue {
  std::string name;
  bool greater_is_better = false;
  MetricResult result = MetricResult::kMean;  ///< of "<name>/total" by "<name>/count"
  ResultOfCounts of_counts = {};              ///< or of "<name>/counts", where there is one

  /// Of the sums over the steps of an epoch: total and count (0 where nothing counts), or counts.
  double of(std::span<const double> sums) const;
};

/// The losses and all metrics of `compile`, which must be there, without data.
std::vector<LoggedValue> logged_values(const config::Config& config);

}  // namespace meshwork

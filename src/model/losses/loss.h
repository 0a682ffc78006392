#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "config/config.h"
#include "graph/builder.h"
#include "model/model.h"
#include "model/prediction.h"

namespace meshwork {

/// What a loss or a metric compares: labels of any dtype and float32 predictions, both with the
/// batch as dimension 0.
struct Comparison {
  GraphBuilder& b;
  ValueId labels;
  ValueId predictions;
  config::Location at;
  std::string what;  ///< "loss 'mse'", for errors
};

/// Values to be averaged, such as one per sample.
struct Compared {
  ValueId values = kNoValue;
  ValueId valid = kNoValue;  ///< of the same shape: 1 where a value counts, 0 where it is 0
  std::optional<ClassRange> classes = {};  ///< where labels are class numbers
};

using CompareFunction = std::function<Compared(const Comparison&)>;

/// The class of keras.metrics that averages a loss.
struct LossMetric {
  std::string_view class_name = {};              ///< "": there is none
  std::vector<std::string_view> arguments = {};  ///< besides the name
};

/// One loss, in the list of registry.cpp: its spellings, class and snake case first, and its
/// arguments. Throws Error, when it is applied, for shapes that do not go together.
struct LossDef {
  std::vector<std::string_view> names;
  CompareFunction (*read)(config::Reader& args);
  LossMetric metric = {};
};

const std::vector<const LossDef*>& loss_registry();

/// How the values of a batch become one number. A mean is over the values that count, whatever
/// their weights; kWeightedMean divides by the sum of the weights instead.
enum class LossReduction { kMean, kWeightedMean, kSum };

struct Loss {
  CompareFunction compare;
  LossReduction reduction = LossReduction::kMean;
  bool takes_logits = false;  ///< it applies the softmax or sigmoid itself
  config::Location at;
  std::string what;
};

/// Reads `mse`, `MeanSquaredError` or `Huber: {delta: 2}`.
Loss read_loss(const config::ClassSpec& spec);

/// The loss of the batch, a float32 scalar; `weights`: those of the samples, if they have any. A
/// mean is over what the mask of the predictions lets count. Its nodes stand under the path `name`.
ValueId add_loss(GraphBuilder& b, const Loss& loss, ValueId labels, const Prediction& predictions,
                 ValueId weights = kNoValue, std::string_view name = names::kLoss);

/// Labels and predictions, both float32, of one shape and at least rank 2: where the ranks differ
/// by a last dimension of one, it is put in or left out as in Keras. Else an Error.
struct Matched {
  ValueId labels;
  ValueId predictions;
};
Matched match_shapes(const Comparison& c);

/// The same of samples that are rows [batch, labels]; else an Error that begins with `says`: "it is
/// for predictions [labels]".
Matched match_rows(const Comparison& c, std::string_view says);

/// Class numbers as int32, of the shape of the predictions without their last dimension. An Error
/// if the labels are not such.
ValueId class_labels(const Comparison& c);

/// One-hot (or smooth) labels as float32, of the shape of the predictions. An Error if they are
/// not such.
ValueId one_hot_labels(const Comparison& c);

/// Mean over the last dimension.
ValueId mean_last(GraphBuilder& b, ValueId x);

/// Of all elements.
ValueId sum_all(GraphBuilder& b, ValueId x);

/// Keras's choice by shapes for "accuracy" and "crossentropy".
enum class LabelKind { kBinary, kSparse, kOneHot };
LabelKind label_kind(const Shape& labels, const Shape& predictions);

namespace losses {
extern const LossDef kBinaryCrossentropy;
extern const LossDef kBinaryFocalCrossentropy;
extern const LossDef kCategoricalCrossentropy;
extern const LossDef kCategoricalFocalCrossentropy;
extern const LossDef kCategoricalGeneralizedCrossEntropy;
extern const LossDef kCategoricalHinge;
extern const LossDef kCircle;
extern const LossDef kCosineSimilarity;
extern const LossDef kCrossentropy;
extern const LossDef kDice;
extern const LossDef kHinge;
extern const LossDef kHuber;
extern const LossDef kKlDivergence;
extern const LossDef kLogCosh;
extern const LossDef kMeanAbsoluteError;
extern const LossDef kMeanAbsolutePercentageError;
extern const LossDef kMeanSquaredError;
extern const LossDef kMeanSquaredLogarithmicError;
extern const LossDef kPoisson;
extern const LossDef kSquaredHinge;
extern const LossDef kSparseCategoricalCrossentropy;
extern const LossDef kTversky;
}  // namespace losses

}  // namespace meshwork

#include "config/lookup.h"
#include "model/arguments.h"
#include "model/losses/loss.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

LossReduction read_reduction(config::Reader& args) {
  const std::string word = args.get("reduction", "sum_over_batch_size");
  if (word == "sum") return LossReduction::kSum;
  if (word == "sum_over_batch_size" || word == "mean") return LossReduction::kMean;
  if (word == "mean_with_sample_weight") return LossReduction::kWeightedMean;
  fail_at(args.at(), "{}: reduction '{}' gives no single number; give 'sum' or one of {}",
          args.what(), word, "'sum_over_batch_size', 'mean', 'mean_with_sample_weight'");
}

}  // namespace

const std::vector<const LossDef*>& loss_registry() {
  static const std::vector<const LossDef*> registry = {
      &losses::kBinaryCrossentropy,
      &losses::kBinaryFocalCrossentropy,
      &losses::kCategoricalCrossentropy,
      &losses::kCategoricalFocalCrossentropy,
      &losses::kCategoricalGeneralizedCrossEntropy,
      &losses::kCategoricalHinge,
      &losses::kCircle,
      &losses::kCosineSimilarity,
      &losses::kCrossentropy,
      &losses::kDice,
      &losses::kHinge,
      &losses::kHuber,
      &losses::kKlDivergence,
      &losses::kLogCosh,
      &losses::kMeanAbsoluteError,
      &losses::kMeanAbsolutePercentageError,
      &losses::kMeanSquaredError,
      &losses::kMeanSquaredLogarithmicError,
      &losses::kPoisson,
      &losses::kSparseCategoricalCrossentropy,
      &losses::kSquaredHinge,
      &losses::kTversky,
  };
  return registry;
}

Loss read_loss(const config::ClassSpec& spec) {
  const LossDef& def = config::look_up(loss_registry(), spec, "loss");
  Loss loss;
  loss.at = spec.at;
  loss.what = fmt::format("loss {}", spec.name);
  config::Reader args(spec.args, loss.what);
  args.find("name");  // loss.name shows nowhere
  refuse_dtype(args);
  loss.reduction = read_reduction(args);
  loss.compare = def.read(args);
  args.finish();
  const config::Value::Entry* logits = spec.args.find("from_logits");
  loss.takes_logits =
      logits != nullptr && !logits->value.is_null() && logits->value.as_bool("from_logits");
  return loss;
}

ValueId add_loss(GraphBuilder& b, const Loss& loss, ValueId labels, const Prediction& predictions,
                 ValueId weights, std::string_view name) {
  const PathScope path(b, name);
  const Compared compared =
      with_mask(b, loss.compare({b, labels, predictions.value, loss.at, loss.what}),
                predictions.mask, loss.at, loss.what);
  ValueId values = compared.values;
  ValueId divisor = compared.valid;
  if (weights != kNoValue) {
    const WeightedValues weighted = weigh(b, compared, weights, loss.at, loss.what);
    values = weighted.values;
    if (loss.reduction == LossReduction::kWeightedMean) divisor = weighted.weights;
  }
  const ValueId sum = sum_all(b, values);
  if (loss.reduction == LossReduction::kSum) return sum;
  if (divisor == kNoValue) {
    const auto count = static_cast<double>(num_elements(b.shape(values)));
    return ops::scale(b, sum, count == 0 ? 0 : 1 / count);
  }
  // Nothing valid, or no weight: the sum is 0, and so is the mean.
  const ValueId count = sum_all(b, divisor);
  const ValueId zero = ops::constant(b, 0.0);
  const ValueId one = ops::constant(b, 1.0);
  const ValueId is_none = ops::equal(b, count, zero);
  return ops::divide(b, sum, ops::select(b, is_none, one, count));
}

}  // namespace meshwork

// w[i] of class y[i]; l = sum w v / n, whatever the sum of w
#include "model/sample_weights.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/names.h"
#include "model/field_value.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

std::vector<std::int64_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::int64_t> axes(rank - std::min(first, rank));
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

ValueId mean_from(GraphBuilder& b, ValueId x, std::size_t first) {
  const std::size_t rank = b.shape(x).size();
  return rank <= first ? x : ops::reduce_mean(b, x, axes_from(first, rank), false);
}

/// The nearest whole number, between two the even one, as NumPy rounds.
ValueId round_half_even(GraphBuilder& b, ValueId x) {
  const ValueId up = ops::floor(b, ops::shift(b, x, 0.5));
  const ValueId half = ops::scale(b, up, 0.5);
  const ValueId up_is_even = ops::equal(b, half, ops::floor(b, half));
  const ValueId minus_down = ops::floor(b, ops::shift(b, ops::negate(b, x), 0.5));
  return ops::select(b, up_is_even, up, ops::negate(b, minus_down));
}

/// The class of each sample as a whole float32 number: [batch], [batch, 1] or one-hot
/// [batch, classes] -> [batch]. `classes` becomes their number where the shapes tell it.
ValueId class_numbers(GraphBuilder& b, ValueId labels, ValueId predictions,
                      const config::Location& at, std::int64_t& classes) {
  const Shape shape = b.shape(labels);
  if (shape.empty() || shape.size() > 2) {
    fail_at(at, "class_weight needs one class per sample, but the labels have shape {}",
            to_string(shape));
  }
  if (shape.size() == 2 && shape[1] > 1) {
    classes = shape[1];
    const ValueId index =
        b.add(ops::kArgMax, {ops::cast(b, labels, DType::kFloat32)}, {{"axis", std::int64_t{1}}});
    return ops::cast(b, index, DType::kFloat32);
  }
  const bool is_sparse = label_kind(shape, b.shape(predictions)) == LabelKind::kSparse;
  if (is_sparse) classes = b.shape(predictions).back();
  const ValueId flat = shape.size() == 2 ? ops::reshape(b, labels, {shape[0]}) : labels;
  const ValueId number = ops::cast(b, flat, DType::kFloat32);
  return b.type(labels).dtype == DType::kFloat32 ? round_half_even(b, number) : number;
}

ValueId weights_of_classes(GraphBuilder& b, const config::ClassWeights& given, ValueId labels,
                           ValueId predictions) {
  std::int64_t classes = 0;
  const ValueId numbers = class_numbers(b, labels, predictions, given.at, classes);
  ValueId weights = ops::broadcast_to(b, ops::constant(b, 1.0), b.shape(numbers));
  for (const auto& [number, weight] : given.by_class) {
    if (classes > 0 && (number < 0 || number >= classes)) {
      fail_at(given.at, "class_weight names class {}, but the classes are 0 to {}", number,
              classes - 1);
    }
    const ValueId is_class = ops::equal(b, numbers, ops::constant(b, static_cast<double>(number)));
    weights = ops::select(b, is_class, ops::constant(b, weight), weights);
  }
  return weights;
}

/// Brings the weights, which are "sample weights" or a "mask", to the rank of the values.
ValueId match_rank(GraphBuilder& b, ValueId weights, const Shape& values,
                   const config::Location& at, const std::string& what,
                   std::string_view noun = "sample weights") {
  const Shape given = b.shape(weights);
  if (values == Shape{1} && given.front() > 1) {
    fail_at(
        at,
        "{} gives one value for the whole batch, and {} weigh its samples; give it 'axis: 1' for "
        "a value of each, or leave the weights out",
        what, noun);
  }
  Shape shape = given;
  while (shape.size() > values.size() && shape.back() == 1) shape.pop_back();
  shape.resize(std::max(shape.size(), values.size()), 1);
  bool fits = shape.size() == values.size();
  for (std::size_t d = 0; fits && d < shape.size(); ++d) {
    fits = shape[d] == values[d] || (shape[d] == 1 && d > 0);
  }
  if (!fits) {
    fail_at(at, "{}: {} of shape {} do not fit its values of shape {}; give one per sample", what,
            noun, to_string(given), to_string(values));
  }
  return shape == given ? weights : ops::reshape(b, weights, shape);
}

}  // namespace

ValueId add_sample_weights(GraphBuilder& b, const config::Config& config,
                           const Signature& signature, Mode mode, ValueId labels,
                           ValueId predictions) {
  const auto& by_class = config.fit.class_weight;
  if (signature.sample_weight) {
    if (by_class) {
      fail_at(by_class->at,
              "class_weight cannot be used with a dataset that has a field '{}'; keep one",
              names::kSampleWeight);
    }
    const ValueId field = field_value(b, *signature.sample_weight, b.shape(labels)[0]);
    return ops::cast(b, field, DType::kFloat32);
  }
  if (!by_class || by_class->by_class.empty() || mode != Mode::kTrain) return kNoValue;
  const PathScope path(b, "class_weight");
  return weights_of_classes(b, *by_class, labels, predictions);
}

WeightedValues weigh(GraphBuilder& b, const Compared& compared, ValueId weights,
                     const config::Location& at, const std::string& what) {
  ValueId matched = match_rank(b, weights, b.shape(compared.values), at, what);
  const ValueId values = ops::multiply(b, compared.values, matched);
  if (compared.valid != kNoValue) matched = ops::multiply(b, matched, compared.valid);
  return {values, matched};
}

ValueId weights_for(GraphBuilder& b, Shape shape, ValueId weights, const config::Location& at,
                    const std::string& what) {
  if (weights == kNoValue) return ops::broadcast_to(b, ops::constant(b, 1.0), shape);
  const ValueId matched = match_rank(b, weights, shape, at, what);
  return ops::broadcast_to(b, matched, shape);
}

Compared with_mask(GraphBuilder& b, Compared compared, ValueId mask, const config::Location& at,
                   const std::string& what) {
  if (mask == kNoValue) return compared;
  const Shape shape = b.shape(compared.values);
  const ValueId matched = match_rank(b, mask, shape, at, what, "masks");
  compared.values = ops::multiply(b, compared.values, matched);
  compared.valid = compared.valid == kNoValue ? ops::broadcast_to(b, matched, shape)
                                              : ops::multiply(b, compared.valid, matched);
  return compared;
}

ValueId masked_weights(GraphBuilder& b, ValueId weights, ValueId mask, const config::Location& at,
                       const std::string& what) {
  if (mask == kNoValue) return weights;
  if (weights == kNoValue) return mask;
  return ops::multiply(b, match_rank(b, weights, b.shape(mask), at, what), mask);
}

WeightedMean weighted_samples(GraphBuilder& b, const Compared& compared, ValueId weights,
                              const config::Location& at, const std::string& what) {
  Compared samples = compared;
  const std::size_t rank = std::max<std::size_t>(b.shape(weights).size(), 1);
  if (samples.valid == kNoValue) samples.values = mean_from(b, samples.values, rank);
  const WeightedValues weighted = weigh(b, samples, weights, at, what);
  return {sum_all(b, mean_from(b, weighted.values, 1)),
          sum_all(b, mean_from(b, weighted.weights, 1))};
}

WeightedMean weighted_values(GraphBuilder& b, const Compared& compared, ValueId weights,
                             const config::Location& at, const std::string& what) {
  const Shape shape = b.shape(compared.values);
  if (weights != kNoValue) {
    const WeightedValues weighted = weigh(b, compared, weights, at, what);
    return {sum_all(b, weighted.values), sum_all(b, ops::broadcast_to(b, weighted.weights, shape))};
  }
  const ValueId count = compared.valid == kNoValue
                            ? ops::constant(b, static_cast<double>(num_elements(shape)))
                            : sum_all(b, compared.valid);
  return {sum_all(b, compared.values), count};
}

}  // namespace meshwork

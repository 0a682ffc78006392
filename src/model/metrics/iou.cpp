// Intersection over union: of each class how many are it and are taken for it, of those that are
// either; the mean over the target classes of which there are any. `sparse_y_pred`: predictions are
// numbers of classes, else the greatest along the last dimension is taken; `sparse_y_true` alike of
// labels. BinaryIoU: predictions from a threshold on are of class 1.
#include <numeric>
#include <optional>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/losses/last_axis.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

struct Arguments {
  std::int64_t classes = 0;
  std::optional<std::int64_t> ignored = {};
  bool sparse_labels = true, sparse_predictions = true;
  std::optional<double> threshold = {};  ///< of predictions of two classes
  std::vector<std::int64_t> targets = {};
  std::optional<losses::LastAxis> axis = {};  ///< of what is one number for each class
};

/// Towards zero, as a cast to whole numbers rounds.
ValueId truncate(GraphBuilder& b, ValueId x) {
  const ValueId size = ops::floor(b, ops::abs(b, x));
  const ValueId from_zero = ops::greater_equal(b, x, ops::constant(b, 0.0));
  return ops::select(b, from_zero, size, ops::negate(b, size));
}

/// Numbers of classes, as whole float32 numbers.
ValueId class_numbers(GraphBuilder& b, ValueId x, bool sparse) {
  const auto axis = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  const ValueId number = ops::cast(b, x, DType::kFloat32);
  if (sparse) return truncate(b, number);
  return ops::cast(b, b.add(ops::kArgMax, {number}, {{"axis", axis}}), DType::kFloat32);
}

/// [classes, classes]: how many of the class of the row are taken for that of the column.
ValueId count(const Comparison& c, ValueId weights, const Arguments& args) {
  GraphBuilder& b = c.b;
  if (args.axis) args.axis->check(c);
  const ValueId labels = class_numbers(b, c.labels, args.sparse_labels);
  const ValueId predictions =
      args.threshold ? ops::greater_equal(b, c.predictions, ops::constant(b, *args.threshold))
                     : class_numbers(b, c.predictions, args.sparse_predictions);
  Comparison matched = c;
  matched.labels = labels;
  matched.predictions = predictions;
  const auto [y, p] = match_shapes(matched);
  const auto classes = static_cast<double>(args.classes);
  const auto is_class = [&](ValueId x) {
    const ValueId from_zero = ops::greater_equal(b, x, ops::constant(b, 0.0));
    return ops::multiply(b, from_zero, ops::greater(b, ops::constant(b, classes), x));
  };
  ValueId counts = ops::multiply(b, is_class(y), is_class(p));
  if (args.ignored) {
    const ValueId is_ignored =
        ops::equal(b, y, ops::constant(b, static_cast<double>(*args.ignored)));
    counts = ops::multiply(b, counts, ops::one_minus(b, is_ignored));
  }
  const ValueId weight =
      ops::multiply(b, counts, weights_for(b, b.shape(y), weights, c.at, c.what));
  const ValueId cell = ops::multiply(b, counts, ops::add(b, ops::scale(b, y, classes), p));
  const std::int64_t elements = num_elements(b.shape(y));
  const ValueId index = ops::cast(b, ops::reshape(b, cell, {elements}), DType::kInt32);
  return b.add(ops::kEmbeddingGradient, {ops::reshape(b, weight, {elements, 1}), index},
               {{"rows", args.classes * args.classes}});
}

double result(std::span<const double> counts, const Arguments& args) {
  const auto classes = static_cast<std::size_t>(args.classes);
  double sum = 0;
  int there = 0;
  for (const std::int64_t target : args.targets) {
    const auto i = static_cast<std::size_t>(target);
    double row = 0, column = 0;
    for (std::size_t j = 0; j < classes; ++j) {
      row += counts[i * classes + j];
      column += counts[j * classes + i];
    }
    const double hits = counts[i * classes + i];
    const double either = row + column - hits;
    if (either == 0) continue;
    sum += hits / (either + kEpsilon);
    ++there;
  }
  return there == 0 ? 0 : sum / there;
}

Counting counting(const Arguments& args) {
  return {[args](const Comparison& c, ValueId weights) { return count(c, weights, args); },
          [args](std::span<const double> counts) { return result(counts, args); }};
}

/// num_classes, ignore_class, sparse_y_pred, of class numbers sparse_y_true; all classes are
/// targets.
Arguments read_classes(config::Reader& args, bool one_hot) {
  Arguments a;
  a.axis = losses::LastAxis(args);
  a.classes = args.require_integer("num_classes", config::between(1, 4096));
  a.ignored = args.get_integer("ignore_class");
  a.sparse_labels = !one_hot && args.get("sparse_y_true", true);
  a.sparse_predictions = args.get("sparse_y_pred", !one_hot);
  a.targets.resize(static_cast<std::size_t>(a.classes));
  std::iota(a.targets.begin(), a.targets.end(), 0);
  return a;
}

void read_targets(config::Reader& args, Arguments& a) {
  const config::Value& given = args.require("target_class_ids");
  a.targets = given.as_shape(args.what() + ": target_class_ids");
  for (const std::int64_t target : a.targets) {
    if (target >= 0 && target < a.classes) continue;
    fail_at(given.at, "{}: target_class_ids names class {}; there are 0 to {}", args.what(), target,
            a.classes - 1);
  }
}

template <bool kOneHot>
Counting read_mean(config::Reader& args) {
  return counting(read_classes(args, kOneHot));
}

template <bool kOneHot>
Counting read_targeted(config::Reader& args) {
  Arguments a = read_classes(args, kOneHot);
  read_targets(args, a);
  return counting(a);
}

Counting read_binary(config::Reader& args) {
  Arguments a{.classes = 2, .targets = {0, 1}};
  a.threshold = args.get("threshold", 0.5);
  if (args.find("target_class_ids") != nullptr) read_targets(args, a);
  return counting(a);
}

}  // namespace

const MetricDef kBinaryIoU{.names = {"BinaryIoU", "binary_io_u"}, .read_counting = read_binary};
const MetricDef kIoU{.names = {"IoU", "io_u"}, .read_counting = read_targeted<false>};
const MetricDef kMeanIoU{.names = {"MeanIoU", "mean_io_u"}, .read_counting = read_mean<false>};
const MetricDef kOneHotIoU{.names = {"OneHotIoU", "one_hot_io_u"},
                           .read_counting = read_targeted<true>};
const MetricDef kOneHotMeanIoU{.names = {"OneHotMeanIoU", "one_hot_mean_io_u"},
                               .read_counting = read_mean<true>};

}  // namespace meshwork::metrics

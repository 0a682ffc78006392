// Of each class how many are it and are taken for it, of those that are either; the mean over the
// classes of which there are any. `sparse_y_pred`: predictions are numbers of classes, else the
// greatest along the last dimension is taken; `sparse_y_true` alike of labels.
#include <optional>

#include "model/arguments.h"
#include "model/losses/crossentropy.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

struct Arguments {
  std::int64_t classes = 0;
  std::optional<std::int64_t> ignored;
  bool sparse_labels = true, sparse_predictions = true;
};

/// Numbers of classes, as whole float32 numbers.
ValueId class_numbers(GraphBuilder& b, ValueId x, bool sparse) {
  const auto axis = static_cast<std::int64_t>(b.shape(x).size()) - 1;
  const ValueId number = ops::cast(b, x, DType::kFloat32);
  if (sparse) return b.add(ops::kFloor, {number});
  return ops::cast(b, b.add(ops::kArgMax, {number}, {{"axis", axis}}), DType::kFloat32);
}

/// [classes, classes]: how many of the class of the row are taken for that of the column.
ValueId count(const Comparison& c, ValueId weights, const Arguments& args) {
  GraphBuilder& b = c.b;
  const ValueId labels = class_numbers(b, c.labels, args.sparse_labels);
  const ValueId predictions = class_numbers(b, c.predictions, args.sparse_predictions);
  Comparison matched = c;
  matched.labels = labels;
  matched.predictions = predictions;
  const auto [y, p] = match_shapes(matched);
  const auto classes = static_cast<double>(args.classes);
  const auto is_class = [&](ValueId x) {
    const ValueId from_zero = b.add(ops::kGreaterEqual, {x, ops::constant(b, 0.0)});
    return ops::multiply(b, from_zero, b.add(ops::kGreater, {ops::constant(b, classes), x}));
  };
  ValueId counts = ops::multiply(b, is_class(y), is_class(p));
  if (args.ignored) {
    const ValueId is_ignored =
        b.add(ops::kEqual, {y, ops::constant(b, static_cast<double>(*args.ignored))});
    counts = ops::multiply(b, counts, ops::one_minus(b, is_ignored));
  }
  const ValueId weight = ops::multiply(b, counts, weights_for(b, b.shape(y), weights, c.what));
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
  for (std::size_t i = 0; i < classes; ++i) {
    double row = 0, column = 0;
    for (std::size_t j = 0; j < classes; ++j) {
      row += counts[i * classes + j];
      column += counts[j * classes + i];
    }
    const double hits = counts[i * classes + i];
    const double either = row + column - hits;
    if (either == 0) continue;
    sum += hits / (either + losses::kEpsilon);
    ++there;
  }
  return there == 0 ? 0 : sum / there;
}

Counting read(config::Reader& args) {
  losses::refuse_axis(args);
  Arguments a;
  a.classes = args.require_integer("num_classes", config::between(1, 4096));
  a.ignored = args.get_integer("ignore_class");
  a.sparse_labels = args.get("sparse_y_true", a.sparse_labels);
  a.sparse_predictions = args.get("sparse_y_pred", a.sparse_predictions);
  return {[a](const Comparison& c, ValueId weights) { return count(c, weights, a); },
          [a](std::span<const double> counts) { return result(counts, a); }};
}

}  // namespace

const MetricDef kMeanIoU{.names = {"MeanIoU", "mean_io_u"}, .read_counting = read};

}  // namespace meshwork::metrics

// The area under a curve through num_thresholds points, each from what of the predictions is above
// a threshold i / (num_thresholds - 1): of a ROC curve recall over the share of negatives that are
// taken for positives, of a PR curve precision over recall (interpolated as by Davis and Goadrich
// 2006). Counted are predictions between two thresholds, true ones and others.
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

enum class Curve { kRoc, kPr };
enum class Heights { kInterpolation, kMinoring, kMajoring };

struct Arguments {
  std::int64_t thresholds = 200;
  Curve curve = Curve::kRoc;
  Heights heights = Heights::kInterpolation;
  bool multi_label = false;  ///< the mean of the areas of the labels, [batch, labels]
  bool from_logits = false;
};

/// Of [labels, thresholds, 2] or, of all labels together, [1, thresholds, 2]: weights of true and
/// of other labels by the place of the prediction: those above threshold i are from place i on.
ValueId count(const Comparison& c, ValueId weights, const Arguments& args) {
  GraphBuilder& b = c.b;
  auto [y, p] =
      args.multi_label ? match_rows(c, "multi_label is for predictions [labels]") : match_shapes(c);
  const Shape shape = b.shape(p);
  if (args.from_logits) p = b.add(ops::kSigmoid, {p});
  p = ops::clip(b, p, 0, 1);
  // max(ceil(p (n - 1)) - 1, 0)
  const auto steps = static_cast<double>(args.thresholds - 1);
  const ValueId below = b.add(ops::kFloor, {ops::scale(b, p, -steps)});
  const ValueId zero = ops::constant(b, 0.0);
  ValueId place = b.add(ops::kMaximum, {ops::shift(b, ops::scale(b, below, -1), -1), zero});
  if (args.multi_label) {
    const ValueId label =
        b.add(ops::kIota, {}, {{"dim", std::int64_t{1}}, {"dtype", "float32"}, {"shape", shape}});
    place = ops::add(b, place, ops::scale(b, label, static_cast<double>(args.thresholds)));
  }
  const ValueId is_false = b.add(ops::kEqual, {y, zero});
  const ValueId is_true = ops::one_minus(b, is_false);
  const ValueId weight = weights_for(b, shape, weights, c.what);
  const Shape flat{num_elements(shape)}, column{num_elements(shape), 1};
  const auto weighted = [&](ValueId x) {
    return ops::reshape(b, ops::multiply(b, x, weight), column);
  };
  const ValueId both = b.add(ops::kConcatenate, {weighted(is_true), weighted(is_false)},
                             {{"axis", std::int64_t{1}}});
  const ValueId places = ops::cast(b, ops::reshape(b, place, flat), DType::kInt32);
  const std::int64_t rows = args.thresholds * (args.multi_label ? shape[1] : 1);
  return b.add(ops::kEmbeddingGradient, {both, places}, {{"rows", rows}});
}

/// 0 where nothing is divided by.
double ratio(double a, double b) { return b == 0 ? 0 : a / b; }

/// Of what is above each threshold.
struct Point {
  double true_positives = 0, false_positives = 0;
};

std::vector<Point> points_of(std::span<const double> counts) {
  std::vector<Point> points(counts.size() / 2);
  Point sum;
  for (std::size_t i = points.size(); i-- > 0;) {
    sum.true_positives += counts[2 * i];
    sum.false_positives += counts[2 * i + 1];
    points[i] = sum;
  }
  return points;
}

/// Between two points the counts are taken for linear.
double interpolated_pr(const std::vector<Point>& points) {
  double area = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto positives = [](const Point& p) { return p.true_positives + p.false_positives; };
    const double more = positives(points[i]), less = positives(points[i + 1]);
    const double gain = points[i].true_positives - points[i + 1].true_positives;
    const double slope = ratio(gain, std::max(more - less, 0.0));
    const double intercept = points[i + 1].true_positives - slope * less;
    const double factor = more > 0 && less > 0 ? more / less : 1;
    area += ratio(slope * (gain + intercept * std::log(factor)), points[0].true_positives);
  }
  return area;
}

double area_of(std::span<const double> counts, const Arguments& args) {
  const std::vector<Point> points = points_of(counts);
  if (args.curve == Curve::kPr && args.heights == Heights::kInterpolation) {
    return interpolated_pr(points);
  }
  const Point& all = points.front();  // every prediction is above the first threshold
  const auto x = [&](const Point& p) {
    return args.curve == Curve::kRoc ? ratio(p.false_positives, all.false_positives)
                                     : ratio(p.true_positives, all.true_positives);
  };
  const auto y = [&](const Point& p) {
    return args.curve == Curve::kRoc
               ? ratio(p.true_positives, all.true_positives)
               : ratio(p.true_positives, p.true_positives + p.false_positives);
  };
  double area = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const double left = y(points[i + 1]), right = y(points[i]);
    const double height = args.heights == Heights::kMinoring   ? std::min(left, right)
                          : args.heights == Heights::kMajoring ? std::max(left, right)
                                                               : (left + right) / 2;
    area += (x(points[i]) - x(points[i + 1])) * height;
  }
  return area;
}

double mean_area(std::span<const double> counts, const Arguments& args) {
  const auto size = static_cast<std::size_t>(2 * args.thresholds);
  double sum = 0;
  for (std::size_t at = 0; at < counts.size(); at += size) {
    sum += area_of(counts.subspan(at, size), args);
  }
  return sum / static_cast<double>(counts.size() / size);
}

Counting read(config::Reader& args) {
  refuse_arguments(args, {"thresholds", "label_weights"});
  Arguments a;
  a.thresholds = args.get("num_thresholds", a.thresholds, config::between(2, 100'000));
  a.curve = args.choose<Curve>("curve", a.curve, {{"ROC", Curve::kRoc}, {"PR", Curve::kPr}});
  a.heights = args.choose<Heights>("summation_method", a.heights,
                                   {{"interpolation", Heights::kInterpolation},
                                    {"minoring", Heights::kMinoring},
                                    {"majoring", Heights::kMajoring}});
  a.multi_label = args.get("multi_label", a.multi_label);
  args.find("num_labels");  // the predictions say it
  a.from_logits = args.get("from_logits", a.from_logits);
  return {[a](const Comparison& c, ValueId weights) { return count(c, weights, a); },
          [a](std::span<const double> counts) { return mean_area(counts, a); }};
}

}  // namespace

const MetricDef kAuc{.names = {"AUC", "auc"}, .read_counting = read};

}  // namespace meshwork::metrics

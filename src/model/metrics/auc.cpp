// The area under a curve through num_thresholds points, each from what of the predictions is above
// a threshold i / (num_thresholds - 1), or one of `thresholds`, 0 and 1: of a ROC curve recall over
// the share of negatives that are taken for positives, of a PR curve precision over recall
// (interpolated as by Davis and Goadrich 2006).
#include <algorithm>
#include <cmath>
#include <vector>

#include "model/arguments.h"
#include "model/metrics/metric.h"
#include "model/metrics/threshold_counts.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

enum class Curve { kRoc, kPr };
enum class Heights { kInterpolation, kMinoring, kMajoring };

struct Arguments {
  Thresholds thresholds = {};
  Curve curve = Curve::kRoc;
  Heights heights = Heights::kInterpolation;
  bool multi_label = false;  ///< the mean of the areas of the labels, [batch, labels]
  bool from_logits = false;
};

ValueId count(const Comparison& c, ValueId weights, const Arguments& args) {
  Matched matched =
      args.multi_label ? match_rows(c, "multi_label is for predictions [labels]") : match_shapes(c);
  if (args.from_logits) matched.predictions = c.b.add(ops::kSigmoid, {matched.predictions});
  return count_by_threshold(c, matched, weights, args.thresholds, args.multi_label);
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
  const auto size = static_cast<std::size_t>(2 * args.thresholds.count);
  double sum = 0;
  for (std::size_t at = 0; at < counts.size(); at += size) {
    sum += area_of(counts.subspan(at, size), args);
  }
  return sum / static_cast<double>(counts.size() / size);
}

Counting read(config::Reader& args) {
  refuse_arguments(args, {"label_weights"});
  Arguments a;
  a.thresholds = read_thresholds(args);
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

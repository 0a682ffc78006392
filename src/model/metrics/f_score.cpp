// (1 + beta^2) P R / (beta^2 P + R) with precision P and recall R; F1Score: beta = 1. A prediction
// is positive above the threshold, without one where it is the greatest of its sample. Of several
// labels: of all counts together (micro), or the mean (macro), weighted by how many are true.
#include <optional>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/metrics/metric.h"
#include "model/sample_weights.h"
#include "ops/ops.h"

namespace meshwork::metrics {
namespace {

enum class Average { kNone, kMicro, kMacro, kWeighted };

struct Arguments {
  double beta = 1;
  Average average = Average::kNone;
  std::optional<double> threshold;
};

ValueId is_positive(GraphBuilder& b, ValueId p, const Arguments& args) {
  if (args.threshold) return ops::greater(b, p, ops::constant(b, *args.threshold));
  const ValueId greatest = ops::reduce_max(b, p, {1}, true);
  const ValueId is_greatest = ops::greater_equal(b, p, greatest);
  const ValueId is_there = b.add(ops::kGreater, {ops::abs(b, p), ops::constant(b, 1e-9)});
  return ops::multiply(b, is_greatest, is_there);
}

/// [3, labels]: true positives, false positives, false negatives.
ValueId count(const Comparison& c, ValueId weights, const Arguments& args) {
  GraphBuilder& b = c.b;
  const auto [y, p] = match_rows(c, "it is for predictions [labels]");
  const Shape shape = b.shape(p);
  if (args.average == Average::kNone && shape[1] > 1) {
    fail_at(c.at,
            "{}: without 'average' it is a number for each of {} labels; say micro, macro or "
            "weighted",
            c.what, shape[1]);
  }
  const ValueId yes = is_positive(b, p, args);
  const ValueId weight = weights_for(b, shape, weights, c.at, c.what);
  const auto total = [&](ValueId first, ValueId second) {
    const ValueId product = ops::multiply(b, ops::multiply(b, first, second), weight);
    return ops::reduce_sum(b, product, {0}, true);
  };
  return b.add(ops::kConcatenate,
               {total(yes, y), total(yes, ops::one_minus(b, y)), total(ops::one_minus(b, yes), y)},
               {{"axis", std::int64_t{0}}});
}

double score(double hits, double false_positives, double misses, double beta) {
  const double precision = hits / (hits + false_positives + kEpsilon);
  const double recall = hits / (hits + misses + kEpsilon);
  return (1 + beta * beta) * precision * recall / (beta * beta * precision + recall + kEpsilon);
}

double result(std::span<const double> counts, const Arguments& args) {
  const std::size_t labels = counts.size() / 3;
  const auto hits = counts.first(labels), wrong = counts.subspan(labels, labels),
             misses = counts.last(labels);
  double all_hits = 0, all_wrong = 0, all_misses = 0, sum = 0, weighted = 0;
  for (std::size_t i = 0; i < labels; ++i) {
    const double mine = score(hits[i], wrong[i], misses[i], args.beta);
    sum += mine;
    weighted += mine * (hits[i] + misses[i]);
    all_hits += hits[i];
    all_wrong += wrong[i];
    all_misses += misses[i];
  }
  switch (args.average) {
    case Average::kMicro:
      return score(all_hits, all_wrong, all_misses, args.beta);
    case Average::kWeighted:
      return weighted / (all_hits + all_misses + kEpsilon);
    default:
      return sum / static_cast<double>(labels);
  }
}

Counting read_with(config::Reader& args, double beta) {
  Arguments a{.beta = beta, .threshold = {}};
  a.average = args.choose<Average>(
      "average", a.average,
      {{"micro", Average::kMicro}, {"macro", Average::kMacro}, {"weighted", Average::kWeighted}});
  a.threshold = args.get_real("threshold", {.least = 0, .most = 1, .has_least = false});
  return {[a](const Comparison& c, ValueId weights) { return count(c, weights, a); },
          [a](std::span<const double> counts) { return result(counts, a); }};
}

Counting read(config::Reader& args) {
  return read_with(args, args.get("beta", 1.0, config::more_than(0)));
}

Counting read_f1(config::Reader& args) { return read_with(args, 1); }

}  // namespace

const MetricDef kFBetaScore{.names = {"FBetaScore", "fbeta_score", "f_beta_score"},
                            .read_counting = read};
const MetricDef kF1Score{.names = {"F1Score", "f1_score"}, .read_counting = read_f1};

}  // namespace meshwork::metrics

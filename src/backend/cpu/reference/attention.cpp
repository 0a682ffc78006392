// attention:                y = sum over s of p m v, with weights p = exp(score - log sum)
// attention_log_sum:        log of the sum over s of exp(score)
// attention_query_gradient: dq = scale times the sum over s of p (m dy v - delta) k
// attention_key_gradient:   dk = scale times the sum over t and r of p (m dy v - delta) q
// attention_value_gradient: dv = sum over t and r of p m dy
// where m is what dropout makes of a weight, 0 or 1 / (1 - rate); all over the keys that count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/cpu/reference/index.h"
#include "backend/cpu/reference/kernels.h"
#include "base/rng.h"
#include "elementwise/comparison.h"
#include "graph/attention_options.h"

namespace meshwork::reference {
namespace {

using Line = std::vector<double>;

/// The operands of one of the ops, and what they say of a query and a key.
class Operands {
 public:
  Operands(const KernelArgs& args, std::size_t fixed)
      : args_(args),
        options_(attention_options(args.attrs)),
        extras_(attention_extras(fixed, args.inputs.size(), args.attrs)) {}

  /// [b, t, g, r] of the queries.
  Shape queries() const {
    const Shape& q = args_.inputs[0].type.shape;
    return {q.begin(), q.end() - 1};
  }
  std::int64_t keys() const { return args_.inputs[1].type.shape[1]; }
  const TensorView& operand(std::size_t i) const { return args_.inputs[i]; }
  const TensorView& output() const { return args_.output; }
  double scale() const { return options_.scale; }

  /// The place of line (b, t, g, r) of operand `i`, whose lines these are.
  float* query_line(const TensorView& view, const Shape& q) const {
    const Shape& shape = view.type.shape;
    const std::int64_t width = shape.size() == 5 ? shape[4] : 1;
    const Shape lines = queries();
    return view.as<float>() +
           (((q[0] * lines[1] + q[1]) * lines[2] + q[2]) * lines[3] + q[3]) * width;
  }

  /// The place of a query's number among log_sums.
  float* log_sum_of(const TensorView& view, const Shape& q) const {
    if (!options_.by_head) return query_line(view, q);
    const Shape lines = queries();
    return view.as<float>() + ((q[0] * lines[2] + q[2]) * lines[3] + q[3]) * lines[1] + q[1];
  }

  /// The place of line (b, s, g) of the sample and head of a query.
  float* key_line(const TensorView& view, const Shape& q, std::int64_t s) const {
    const Shape& shape = view.type.shape;
    return view.as<float>() + ((q[0] * shape[1] + s) * shape[2] + q[2]) * shape[3];
  }

  bool sees(const Shape& q, std::int64_t s) const {
    const std::int64_t shift =
        extras_.shift ? args_.inputs[*extras_.shift].as<std::int32_t>()[q[0]] : 0;
    if (!options_.sees(args_.inputs[0].region.offset[1] + q[1] + shift,
                       args_.inputs[1].region.offset[1] + s)) {
      return false;
    }
    if (extras_.key_segments &&
        segment(*extras_.query_segments, q[0], q[1]) != segment(*extras_.key_segments, q[0], s)) {
      return false;
    }
    if (!extras_.mask) return true;
    const TensorView& mask = args_.inputs[*extras_.mask];
    const Shape& shape = mask.type.shape;
    std::int64_t place = 0;
    for (std::size_t d = 0; d < q.size(); ++d)
      place = place * shape[d] + (shape[d] == 1 ? 0 : q[d]);
    return mask.as<float>()[place * shape[4] + s] != 0;
  }

  /// -infinity of keys that a query does not see.
  double score(const Shape& q, std::int64_t s) const {
    if (!sees(q, s)) return -std::numeric_limits<double>::infinity();
    return options_.scale *
           product(query_line(operand(0), q), key_line(operand(1), q, s), operand(0).type.shape[4]);
  }

  Line scores(const Shape& q) const {
    Line line;
    for (std::int64_t s = 0; s < keys(); ++s) line.push_back(score(q, s));
    return line;
  }

  /// What dropout makes of a weight.
  double kept(const Shape& q, std::int64_t s) const {
    if (options_.rate == 0) return 1;
    const auto step = static_cast<std::uint64_t>(*operand(*extras_.step).as<std::int64_t>());
    const Region& query = args_.inputs[0].region;
    const Region& key = args_.inputs[1].region;
    const std::int64_t heads = query.global[3];
    std::int64_t place = query.offset[0] + q[0];
    place =
        place * query.global[2] * heads + (query.offset[2] + q[2]) * heads + query.offset[3] + q[3];
    place = (place * query.global[1] + query.offset[1] + q[1]) * key.global[1] + key.offset[1] + s;
    const float u = uniform_at(static_cast<std::uint64_t>(options_.key), step,
                               static_cast<std::uint64_t>(place));
    return u < static_cast<float>(options_.rate) ? 0 : 1 / (1 - options_.rate);
  }

  static double product(const float* x, const float* y, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * y[i];
    return sum;
  }

  /// Of the gradients: the weight before dropout.
  double weight(const Shape& q, std::int64_t s) const {
    return std::exp(score(q, s) - *log_sum_of(operand(kAttentionLogSumOperand), q));
  }

  /// Of the gradients: that of the score.
  double score_gradient(const Shape& q, std::int64_t s) const {
    const double weight_gradient =
        product(query_line(operand(3), q), key_line(operand(2), q, s), operand(2).type.shape[3]);
    return weight(q, s) * (kept(q, s) * weight_gradient - delta(q));
  }

 private:
  double delta(const Shape& q) const {
    const float* const line = query_line(operand(kAttentionDeltaOperand), q);
    if (!options_.with_result) return *line;
    return product(query_line(operand(3), q), line, operand(3).type.shape[4]);
  }

  std::int32_t segment(std::size_t operand, std::int64_t sample, std::int64_t place) const {
    const TensorView& segments = args_.inputs[operand];
    return segments.as<std::int32_t>()[sample * segments.type.shape[1] + place];
  }

  KernelArgs args_;
  AttentionOptions options_;
  AttentionExtras extras_;
};

/// log of the sum of exp(score); kNoKeys if none counts.
double log_sum(const Line& scores) {
  double max = -std::numeric_limits<double>::infinity();
  for (const double score : scores) max = elementwise::Maximum::apply(max, score);
  if (std::isinf(max) && max < 0) return kNoKeys;
  double sum = 0;
  for (const double score : scores) sum += std::exp(score - max);
  return max + std::log(sum);
}

void add(Line& sum, double factor, const float* line) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += factor * line[i];
}

void write(const Line& line, float* to) {
  std::transform(line.begin(), line.end(), to, [](double x) { return static_cast<float>(x); });
}

std::size_t width_of(const TensorView& view) {
  return static_cast<std::size_t>(view.type.shape.back());
}

/// The gradient of keys or values: the sum of factor(query, s) times the query's line of `of`.
template <class Factor>
void sum_over_queries(const Operands& x, std::size_t of, const Factor& factor) {
  const Shape lines = x.queries();
  for_each_index({lines[0], x.keys(), lines[2]}, [&](const Shape& key) {
    Line sum(width_of(x.output()));
    for_each_index({lines[1], lines[3]}, [&](const Shape& query) {
      const Shape q{key[0], query[0], key[2], query[1]};
      if (x.sees(q, key[1])) add(sum, factor(q, key[1]), x.query_line(x.operand(of), q));
    });
    write(sum, x.key_line(x.output(), {key[0], 0, key[2], 0}, key[1]));
  });
}

}  // namespace

Launch attention(const KernelArgs& args) {
  return [x = Operands(args, kAttentionOperands)] {
    for_each_index(x.queries(), [&](const Shape& q) {
      const Line scores = x.scores(q);
      const double log = log_sum(scores);
      Line sum(width_of(x.output()));
      for (std::int64_t s = 0; s < x.keys(); ++s) {
        if (!x.sees(q, s)) continue;
        const double weight = std::exp(scores[static_cast<std::size_t>(s)] - log) * x.kept(q, s);
        add(sum, weight, x.key_line(x.operand(2), q, s));
      }
      write(sum, x.query_line(x.output(), q));
    });
  };
}

Launch attention_log_sum(const KernelArgs& args) {
  return [x = Operands(args, kAttentionOperands)] {
    for_each_index(x.queries(), [&](const Shape& q) {
      *x.log_sum_of(x.output(), q) = static_cast<float>(log_sum(x.scores(q)));
    });
  };
}

Launch attention_query_gradient(const KernelArgs& args) {
  return [x = Operands(args, kAttentionGradientOperands)] {
    for_each_index(x.queries(), [&](const Shape& q) {
      Line sum(width_of(x.output()));
      for (std::int64_t s = 0; s < x.keys(); ++s) {
        if (!x.sees(q, s)) continue;
        add(sum, x.scale() * x.score_gradient(q, s), x.key_line(x.operand(1), q, s));
      }
      write(sum, x.query_line(x.output(), q));
    });
  };
}

Launch attention_key_gradient(const KernelArgs& args) {
  return [x = Operands(args, kAttentionGradientOperands)] {
    sum_over_queries(
        x, 0, [&](const Shape& q, std::int64_t s) { return x.scale() * x.score_gradient(q, s); });
  };
}

Launch attention_value_gradient(const KernelArgs& args) {
  return [x = Operands(args, kAttentionGradientOperands)] {
    sum_over_queries(x, 3,
                     [&](const Shape& q, std::int64_t s) { return x.weight(q, s) * x.kept(q, s); });
  };
}

}  // namespace meshwork::reference

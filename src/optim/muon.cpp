// Of a kernel of two dimensions: m' = mu m + g; w' = w - lr s O(g + mu m') (of m' without Nesterov)
// with s = rms_rate sqrt(its greater dimension). O has nearly the singular vectors of its operand,
// with singular values near 1: X = G / |G|, then ns_steps times X' = a X + (b A + c A A) X with
// A = X X^T (Jordan 2024; Liu et al. 2025 for s). All other weights: Adam's rule.
#include <algorithm>
#include <cmath>
#include <optional>

#include "config/path_pattern.h"
#include "ops/ops.h"
#include "optim/adam_rule.h"

namespace meshwork::optimizers {
namespace {

struct Arguments {
  double momentum = 0.95;
  bool nesterov = true;
  std::int64_t iterations = 5;
  double a = 3.4445, b = -4.7750, c = 2.0315;
  std::optional<double> rms_rate;
  std::vector<config::PathPattern> excluded;
  std::optional<double> adam_weight_decay;
  double adam_rate = 1;
  AdamArguments adam;
};

bool is_for_adam(const Arguments& args, const WeightUpdate& u) {
  if (u.shape().size() != 2) return true;
  return std::ranges::any_of(
      args.excluded, [&](const config::PathPattern& pattern) { return pattern.matches(u.path()); });
}

/// Nearly the orthogonal matrix nearest to x. The smaller of the two squares of x is A.
ValueId orthogonal(GraphBuilder& b, ValueId x, const Arguments& args) {
  const bool is_wide = b.shape(x)[0] <= b.shape(x)[1];
  x = ops::divide(b, x, ops::shift(b, norm(b, x), 1e-7));
  for (std::int64_t i = 0; i < args.iterations; ++i) {
    const ValueId square = ops::einsum(b, x, x, is_wide ? "i k,j k->i j" : "k i,k j->i j");
    const ValueId fourth = ops::einsum(b, square, square, "i j,j k->i k");
    const ValueId sum = ops::add(b, ops::scale(b, square, args.b), ops::scale(b, fourth, args.c));
    const ValueId higher =
        is_wide ? ops::einsum(b, sum, x, "i j,j k->i k") : ops::einsum(b, x, sum, "i j,j k->i k");
    x = ops::add(b, ops::scale(b, x, args.a), higher);
  }
  return x;
}

ValueId update_kernel(WeightUpdate& u, const Arguments& args) {
  GraphBuilder& b = u.builder();
  const ValueId old = u.slot("momentum");
  const ValueId m = ops::add(b, ops::scale(b, old, args.momentum), u.gradient());
  u.update_slot(old, m);
  ValueId direction = m;
  if (args.nesterov) direction = ops::add(b, u.gradient(), ops::scale(b, m, args.momentum));
  ValueId step = orthogonal(b, direction, args);
  if (args.rms_rate) {
    const auto greater = static_cast<double>(std::ranges::max(u.shape()));
    step = ops::scale(b, step, *args.rms_rate * std::sqrt(greater));
  }
  return ops::subtract(b, u.weight(), ops::multiply(b, step, u.learning_rate()));
}

/// Of weights that are for Adam, a part of whose path they match.
std::vector<config::PathPattern> read_patterns(config::Reader& args) {
  std::vector<config::PathPattern> patterns;
  const auto add = [&](const std::string& text, const config::Location& at, const char* key) {
    patterns.emplace_back(text, at, key, config::PathPattern::Extent::kPart);
  };
  if (args.get("exclude_embeddings", true)) add("(?i)embedding", args.at(), "exclude_embeddings");
  if (const config::Value* list = args.find("exclude_layers")) {
    if (!list->is_list()) fail_at(list->at, "exclude_layers must be a list of regexes");
    for (const config::Value& pattern : list->list) {
      add(pattern.as_string("exclude_layers"), pattern.at, "exclude_layers");
    }
  }
  return patterns;
}

UpdateRule read(config::Reader& args) {
  Arguments a;
  a.momentum = args.get("momentum", a.momentum, config::between(0, 1));
  a.nesterov = args.get("nesterov", a.nesterov);
  a.iterations = args.get("ns_steps", a.iterations, config::between(1, 100));
  a.a = args.get("muon_a", a.a);
  a.b = args.get("muon_b", a.b);
  a.c = args.get("muon_c", a.c);
  a.rms_rate = args.get_optional("rms_rate", 0.2, config::at_least(0));
  a.excluded = read_patterns(args);
  a.adam_weight_decay = args.get_optional("adam_weight_decay", 0.004, config::at_least(0));
  a.adam_rate = args.get("adam_lr_ratio", a.adam_rate, config::at_least(0));
  a.adam = read_moments(args, "adam_");
  return {.apply =
              [a](WeightUpdate& u) {
                return is_for_adam(a, u) ? update_by_adam(u, a.adam, a.adam_rate)
                                         : update_kernel(u, a);
              },
          .weight_decay =
              [a](const WeightUpdate& u, std::optional<double> common) {
                return is_for_adam(a, u) ? a.adam_weight_decay : common;
              }};
}

}  // namespace

const OptimizerDef kMuon{.names = {"Muon"},
                         .path = "muon",
                         .learning_rate = 0.001,
                         .weight_decay = 0.004,
                         .read = read,
                         .slots = {{"momentum", "velocity"}}};

}  // namespace meshwork::optimizers

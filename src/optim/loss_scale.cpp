// finite: c' = c + 1, and 0 at c + 1 = dynamic_growth_steps, when s' = 2 s; else c' = 0, s' = s / 2
#include "optim/loss_scale.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/names.h"
#include "ops/ops.h"
#include "optim/rule.h"

namespace meshwork {
namespace {

ValueId whole(GraphBuilder& b, std::int64_t number) {
  return ops::constant(b, static_cast<double>(number), {DType::kInt32, {}});
}

/// Whether a gradient comes from float16, as it is or as the sum of several such.
bool is_of_float16(const GraphBuilder& b, ValueId gradient) {
  const Node& node = b.node(gradient);
  if (node.op == &ops::kCast) return b.type(node.inputs[0]).dtype == DType::kFloat16;
  return node.op == &ops::kAdd &&
         std::ranges::all_of(node.inputs, [&](ValueId input) { return is_of_float16(b, input); });
}

/// A sum over all of x: 0 where all are finite, else NaN. Sums of zeros have no order.
ValueId zero_if_finite(GraphBuilder& b, ValueId x) {
  // What rounds to infinity in float16, here does so in float32: 2^128 / 65520.
  constexpr double kToTheEnd = 0x1p128 / 65520;
  // No part of a sum over devices passes the absolute value: what they are together counts.
  ValueId size = ops::abs(b, x);
  if (is_of_float16(b, x)) size = ops::scale(b, size, kToTheEnd);
  ValueId zero = ops::subtract(b, size, size);
  const auto rank = static_cast<std::int64_t>(b.shape(x).size());
  if (rank == 0) return zero;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  zero = ops::reduce_sum(b, zero, {rank - 1}, true);  // in the pass that reads x
  return ops::reduce_sum(b, zero, std::move(axes), false);
}

}  // namespace

bool scales_losses(const config::ClassSpec& spec) {
  return config::same_class(spec.name, config::kLossScaleOptimizer);
}

LossScaling read_loss_scaling(const config::ClassSpec& spec) {
  config::Reader args(spec.args, fmt::format("optimizer {}", spec.name));
  LossScaling scaling;
  scaling.name = read_optimizer_name(args, "loss_scale_optimizer");
  scaling.initial_scale = args.get("initial_scale", 32768.0, config::more_than(0));
  constexpr int kMost = std::numeric_limits<std::int32_t>::max();
  scaling.growth_steps = args.get("dynamic_growth_steps", 2000, config::between(1, kMost));
  scaling.inner = config::read_class(args.require("inner_optimizer"), "inner_optimizer");
  if (scales_losses(scaling.inner)) {
    fail_at(scaling.inner.at,
            "{}: inner_optimizer is a LossScaleOptimizer, too; name one that "
            "updates weights",
            args.what());
  }
  for (const char* key : {"learning_rate", "weight_decay", "clipnorm", "clipvalue",
                          "global_clipnorm", "use_ema", "ema_momentum", "ema_overwrite_frequency",
                          "loss_scale_factor", "gradient_accumulation_steps"}) {
    const config::Value* value = args.find(key);
    if (value == nullptr) continue;
    fail_at(value->at, "{} has no {}; set it on the inner_optimizer", args.what(), key);
  }
  args.finish();
  return scaling;
}

std::vector<std::string> loss_scale_paths(const LossScaling& scaling) {
  return {scaling.name + "/step_counter", scaling.name + "/dynamic_scale"};
}

std::string iteration_path(const std::string& optimizer) { return optimizer + "/iteration"; }

ValueId scale_of_loss(GraphBuilder& b, const LossScaling& scaling) {
  const std::string path = loss_scale_paths(scaling)[1];
  return kept_scalar(b, scaling.name, path, DType::kFloat32, scaling.initial_scale);
}

ValueId counted_steps(GraphBuilder& b, const std::string& optimizer) {
  return kept_scalar(b, optimizer, iteration_path(optimizer), DType::kInt32, 0);
}

ValueId are_finite(GraphBuilder& b, std::span<const Update> gradients) {
  ValueId sum = kNoValue;
  for (const Update& gradient : gradients) {
    if (gradient.value == kNoValue) continue;
    const ValueId zero = zero_if_finite(b, gradient.value);
    sum = sum == kNoValue ? zero : ops::add(b, sum, zero);
  }
  if (sum == kNoValue) return ops::constant(b, 1.0);
  return ops::equal(b, sum, ops::constant(b, 0.0));
}

void update_where(GraphBuilder& b, ValueId condition, std::size_t first) {
  for (std::size_t i = first; i < b.graph().updates.size(); ++i) {
    const auto [variable, value] = b.graph().updates[i];
    b.graph().updates[i].value = ops::select(b, condition, value, variable);
  }
}

void update_scale(GraphBuilder& b, const LossScaling& scaling, ValueId finite, ValueId steps) {
  const ValueId scale = scale_of_loss(b, scaling);
  const std::string path = loss_scale_paths(scaling)[0];
  const ValueId counter = kept_scalar(b, scaling.name, path, DType::kInt32, 0);
  const ValueId next = ops::add(b, counter, whole(b, 1));
  const ValueId grows = ops::equal(b, next, whole(b, scaling.growth_steps));
  const ValueId goes_on = ops::multiply(b, finite, ops::one_minus(b, grows));
  const ValueId grown = ops::select(b, grows, ops::scale(b, scale, 2), scale);
  const auto select = [&](ValueId condition, ValueId value, ValueId otherwise) {
    return ops::select(b, condition, value, otherwise);
  };
  auto& updates = b.graph().updates;
  updates.push_back({counter, select(goes_on, next, whole(b, 0))});
  updates.push_back({scale, select(finite, grown, ops::scale(b, scale, 0.5))});
  updates.push_back({steps, select(finite, ops::add(b, steps, whole(b, 1)), steps)});
  b.graph().outputs.push_back({names::kStepTaken, finite});
}

}  // namespace meshwork

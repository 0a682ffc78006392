#include "optim/common.h"

#include "ops/ops.h"

namespace meshwork {
namespace {

void read_average(config::Reader& args, CommonArguments& common) {
  const bool wanted = args.get("use_ema", false);
  // Without an average the two mean nothing, as in Keras.
  const auto within = [&](const config::Range& range) { return wanted ? range : config::Range{}; };
  const double momentum = args.get("ema_momentum", 0.99, within(config::between(0, 1)));
  const auto frequency = args.get_integer("ema_overwrite_frequency", within(config::at_least(1)));
  if (!wanted) return;
  common.ema_momentum = momentum;
  common.ema_overwrites = frequency;
}

// g c / max(|g|, c)
void clip_norm(WeightUpdate& update, double c) {
  GraphBuilder& b = update.builder();
  const ValueId limit = ops::constant(b, c);
  const ValueId greater = ops::maximum(b, norm(b, update.gradient()), limit);
  const ValueId factor = ops::divide(b, limit, greater);
  update.set_gradient(ops::multiply(b, update.gradient(), factor));
}

void clip_value(WeightUpdate& update, double bound) {
  GraphBuilder& b = update.builder();
  update.set_gradient(ops::clip(b, update.gradient(), -bound, bound));
}

// All gradients times c min(1 / N, 1 / c) with their common norm N; NaN where N is not finite
void clip_global_norm(std::span<WeightUpdate> updates, double c) {
  if (updates.empty()) return;
  GraphBuilder& b = updates[0].builder();
  ValueId sum = sum_of_squares(b, updates[0].gradient());
  for (WeightUpdate& update : updates.subspan(1)) {
    sum = ops::add(b, sum, sum_of_squares(b, update.gradient()));
  }
  const ValueId norm = ops::sqrt(b, sum);
  const ValueId inverse = ops::divide(b, ops::constant(b, 1.0), norm);
  const ValueId least = ops::minimum(b, inverse, ops::constant(b, 1 / c));
  const ValueId zero_or_nan = ops::subtract(b, norm, norm);
  const ValueId factor = ops::add(b, ops::scale(b, least, c), zero_or_nan);
  for (WeightUpdate& update : updates) {
    update.set_gradient(ops::multiply(b, update.gradient(), factor));
  }
}

// w - w decay lr
void decay_weight(WeightUpdate& update, double decay) {
  GraphBuilder& b = update.builder();
  const ValueId rate = ops::scale(b, update.learning_rate(), decay);
  update.set_weight(ops::subtract(b, update.weight(), ops::multiply(b, update.weight(), rate)));
}

}  // namespace

CommonArguments read_common(config::Reader& args, const OptimizerDef& def) {
  CommonArguments common;
  common.name = read_optimizer_name(args, def.path);
  common.weight_decay = args.get_optional("weight_decay", def.weight_decay, config::at_least(0));
  if (const config::Value* patterns = args.find("exclude_from_weight_decay")) {
    common.no_decay = LeafPatterns(*patterns);
  }
  common.clipnorm = args.get_real("clipnorm", config::more_than(0));
  common.clipvalue = args.get_real("clipvalue", config::more_than(0));
  common.global_clipnorm = args.get_real("global_clipnorm", config::more_than(0));
  const int clips = int{common.clipnorm.has_value()} + int{common.clipvalue.has_value()} +
                    int{common.global_clipnorm.has_value()};
  if (clips > 1) {
    fail_at(args.at(),
            "{}: only one of clipnorm, clipvalue and global_clipnorm can be set; keep "
            "one",
            args.what());
  }
  common.steps_per_update =
      args.get_integer("gradient_accumulation_steps", config::at_least(2)).value_or(1);
  read_average(args, common);
  common.loss_scale_factor = args.get_real("loss_scale_factor", config::more_than(0));
  return common;
}

void prepare(std::span<WeightUpdate> updates, const CommonArguments& common,
             const UpdateRule& rule) {
  if (common.global_clipnorm) clip_global_norm(updates, *common.global_clipnorm);
  for (WeightUpdate& update : updates) {
    if (common.clipnorm) clip_norm(update, *common.clipnorm);
    if (common.clipvalue) clip_value(update, *common.clipvalue);
    std::optional<double> decay = common.weight_decay;
    if (rule.weight_decay) decay = rule.weight_decay(update, decay);
    const bool decays = decay.value_or(0) > 0;
    if (decays && !common.no_decay.match(update.path())) decay_weight(update, *decay);
  }
}

}  // namespace meshwork

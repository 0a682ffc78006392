// [y1, y2] = [x1 cos a - x2 sin a, x2 cos a + x1 sin a] for the two halves of the features of each
// step: a = step frequency[feature], of which `rope_type` says how they are stretched
#include <cmath>
#include <numbers>

#include "model/arguments.h"
#include "model/count_along.h"
#include "model/layers/decoding.h"
#include "model/layers/positions.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

enum class Stretch { kLinear, kDynamic, kYarn, kLlama };

struct Rope {
  double wavelength = 0;
  double factor = 1;
  Stretch stretch = Stretch::kLinear;
  double beta_fast = 0, beta_slow = 0;  // of kYarn
  double low = 0, high = 0;             // of kLlama: turns of slow and fast features
  double original_length = 0;           // of both
  bool truncate = true;
  double denominator = 0;
};

/// Which dimensions of the input are steps and features.
struct Axes {
  std::size_t step, feature, rank;
};

Axes read_axes(config::Reader& args, const Shape& shape) {
  const auto rank = shape.size();
  const auto step = static_cast<std::size_t>(read_axis(args.find("sequence_axis"), 1, rank));
  const auto feature = static_cast<std::size_t>(read_axis(args.find("feature_axis"), -1, rank));
  if (step == feature || step == 0 || feature == 0) {
    fail_at(args.at(),
            "{}: sequence_axis is {} and feature_axis {} of samples {}; give two others than the "
            "batch",
            args.what(), step, feature, sample_shape(shape));
  }
  if (shape[feature] % 2 != 0) {
    fail_at(args.at(), "{} turns pairs of features, but samples {} have {}; give an even number",
            args.what(), sample_shape(shape), shape[feature]);
  }
  return {step, feature, rank};
}

Rope read_rope(config::Reader& args, std::int64_t features) {
  Rope rope;
  rope.wavelength = args.get("max_wavelength", 10000.0, config::more_than(0));
  rope.factor = args.get("scaling_factor", 1.0, config::more_than(0));
  rope.stretch = args.choose(
      "rope_type", Stretch::kLinear,
      {{"linear", Stretch::kLinear}, {"dynamic", Stretch::kDynamic}, {"yarn", Stretch::kYarn}});
  rope.beta_fast = args.get("beta_fast", 32.0, config::more_than(0));
  rope.beta_slow = args.get("beta_slow", 1.0, config::more_than(0));
  rope.original_length = args.get("original_max_position_embeddings", 4096.0, config::more_than(0));
  rope.truncate = args.get("truncate", true);
  rope.denominator =
      args.get("denominator_dim", static_cast<double>(features), config::more_than(0));
  return rope;
}

/// keras-hub's arguments for the models since Llama 3.1; without them it is a RotaryEmbedding.
Rope read_llama_rope(config::Reader& args, std::int64_t features) {
  Rope rope;
  rope.wavelength = args.get("max_wavelength", 10000.0, config::more_than(0));
  rope.factor = args.get("position_scaling_factor", 1.0, config::more_than(0));
  rope.denominator = static_cast<double>(features);
  const auto adjustment = args.get_real("frequency_adjustment_factor", config::more_than(0));
  const auto low = args.get_real("low_freq_factor", config::more_than(0));
  const auto high = args.get_real("high_freq_factor", config::more_than(0));
  const auto length = args.get_real("pretraining_sequence_length", config::more_than(0));
  const int given = int{adjustment.has_value()} + int{low.has_value()} + int{high.has_value()} +
                    int{length.has_value()};
  if (given == 0) return rope;
  if (given < 4) {
    fail_at(args.at(),
            "{}: frequency_adjustment_factor, low_freq_factor, high_freq_factor and "
            "pretraining_sequence_length go together; give all of them or none",
            args.what());
  }
  if (*high <= *low || rope.factor != 1) {
    fail_at(args.at(),
            "{}: low_freq_factor is {}, high_freq_factor {}, position_scaling_factor {}; give a "
            "higher high_freq_factor, and no position_scaling_factor",
            args.what(), *low, *high, rope.factor);
  }
  rope.stretch = Stretch::kLlama;
  rope.factor = *adjustment;
  rope.low = *low;
  rope.high = *high;
  rope.original_length = *length;
  return rope;
}

/// The feature that turns `rotations` times within the original length.
double turning_feature(const Rope& rope, double rotations, double features) {
  const double turns = rope.original_length / (rotations * 2 * std::numbers::pi);
  return features * std::log(turns) / (2 * std::log(rope.wavelength));
}

/// Between 1 / p of fast features and 1 / (factor p) of slow ones.
ValueId yarn_frequencies(GraphBuilder& b, const Rope& rope, ValueId pair, double features) {
  const ValueId all = ops::constant(b, features);
  const ValueId share = ops::divide(b, ops::scale(b, pair, 2), all);
  const ValueId period = ops::power(b, ops::constant(b, rope.wavelength), share);
  const ValueId one = ops::constant(b, 1.0);
  const ValueId fast = ops::divide(b, one, period);
  const ValueId slow = ops::divide(b, one, ops::scale(b, period, rope.factor));
  double low = turning_feature(rope, rope.beta_fast, features);
  double high = turning_feature(rope, rope.beta_slow, features);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, features - 1);
  const ValueId width = ops::constant(b, std::max(high - low, 0.001));
  const ValueId ramp = ops::divide(b, ops::shift(b, pair, -low), width);
  const ValueId above = ops::maximum(b, ramp, ops::constant(b, 0.0));
  const ValueId slow_share = ops::minimum(b, above, one);
  const ValueId fast_share = ops::subtract(b, one, slow_share);
  const ValueId of_fast = ops::multiply(b, fast, fast_share);
  return ops::add(b, ops::multiply(b, slow, slow_share), of_fast);
}

/// f of features that turn `high` times or more within the original length, f / factor of those
/// that turn `low` times or less, between them in proportion.
ValueId llama_frequencies(GraphBuilder& b, const Rope& rope, ValueId plain) {
  const ValueId turns = ops::scale(b, plain, rope.original_length / (2 * std::numbers::pi));
  const ValueId rise = ops::scale(b, ops::shift(b, turns, -rope.low), 1 / (rope.high - rope.low));
  const ValueId fast = ops::clip(b, rise, 0, 1);
  const double slow = 1 / rope.factor;
  return ops::multiply(b, plain, ops::shift(b, ops::scale(b, fast, 1 - slow), slow));
}

/// Of each pair of features.
ValueId frequencies(GraphBuilder& b, const Rope& rope, const Axes& axes, std::int64_t features) {
  const ValueId pair = count_along(b, axes.rank, axes.feature, features / 2);
  const auto count = static_cast<double>(features);
  if (rope.stretch == Stretch::kYarn) return yarn_frequencies(b, rope, pair, count);
  const ValueId denominator = ops::constant(b, rope.denominator);
  const ValueId share = ops::divide(b, ops::scale(b, pair, 2), denominator);
  const ValueId plain =
      b.add(ops::kPower, {ops::constant(b, rope.wavelength), ops::negate(b, share)});
  if (rope.stretch == Stretch::kLlama) return llama_frequencies(b, rope, plain);
  const double power = rope.stretch == Stretch::kLinear ? 1 : count / std::max(1.0, count - 2);
  return ops::divide(b, plain, ops::constant(b, std::pow(rope.factor, power)));
}

struct Turns {
  ValueId cos, sin;  ///< of each pair of features at each step
};

/// The same for all layers that turn alike, such as those for queries and keys of all blocks.
Turns turns(Scope& scope, const config::Reader& args, const Rope& rope, const Axes& axes,
            const Shape& shape) {
  GraphBuilder& b = scope.builder();
  const SharedScope shared(b);
  const ValueId step = places_along(scope, args, axes.rank, axes.step, shape[axes.step]);
  const std::int64_t features = shape[axes.feature];
  const ValueId angle = ops::multiply(b, step, frequencies(b, rope, axes, features));
  const auto turned = [&](const OpDef& op) {
    const ValueId y = b.add(op, {angle});
    return rope.stretch == Stretch::kYarn ? ops::scale(b, y, 0.1 * std::log(rope.factor) + 1) : y;
  };
  return {turned(ops::kCosine), turned(ops::kSine)};
}

template <Rope (*kRead)(config::Reader&, std::int64_t)>
ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const Shape shape = b.shape(x);
  check_steps(args, shape);
  const Axes axes = read_axes(args, shape);
  const Rope rope = kRead(args, shape[axes.feature]);
  const auto [cos, sin] = turns(scope, args, rope, axes, shape);
  const auto axis = static_cast<std::int64_t>(axes.feature);
  return b.add(ops::kRotary, {x, cos, sin}, {{"axis", axis}, {"inverse", false}});
}

}  // namespace

const LayerDef kRotaryEmbedding{
    .names = {"RotaryEmbedding"}, .build = build<read_rope>, .module = "keras_hub.layers"};
/// keras-hub has it for its models alone.
const LayerDef kLlamaRotaryEmbedding{
    .names = {"LlamaRotaryEmbedding"}, .build = build<read_llama_rope>, .module = ""};

}  // namespace meshwork::layers

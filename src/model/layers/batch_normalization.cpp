// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, each channel by itself. Training takes
// the statistics of the global batch and moves the averages that inference uses towards them:
// moving = momentum moving + (1 - momentum) batch.
#include "model/arguments.h"
#include "model/layers/normalization.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

struct Statistics {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
};

/// Mean and biased variance of every channel from one pass over x. `near` is close to the mean, but
/// for the first steps, so that the difference of squares keeps its digits.
Statistics batch_statistics(GraphBuilder& b, ValueId x, ValueId near, std::int64_t axis) {
  const std::int64_t channels = b.shape(near)[0];
  const double count =
      static_cast<double>(num_elements(b.shape(x))) / static_cast<double>(channels);
  const ValueId sums = b.add(ops::kMoments, {x, near}, {{"axis", axis}});
  const ValueId means = ops::scale(b, sums, count == 0 ? 0 : 1 / count);
  const ValueId distance = ops::row(b, means, 0);
  const ValueId square = b.add(ops::kSquare, {distance});
  // Rounding may take a variance of 0 below it.
  const ValueId variance = b.add(ops::kRelu, {ops::subtract(b, ops::row(b, means, 1), square)});
  return {ops::add(b, distance, near), variance};
}

/// momentum moving + (1 - momentum) batch
ValueId moved(GraphBuilder& b, ValueId moving, ValueId batch, double momentum) {
  const ValueId kept = ops::scale(b, moving, momentum);
  return ops::add(b, kept, ops::scale(b, batch, 1 - momentum));
}

void refuse_renormalization(config::Reader& args) {
  refuse_arguments(args, {"renorm_clipping"});
  args.get_real("renorm_momentum");  // without effect where there is no renorm
  args.get("synchronized", false);   // statistics are those of the global batch in any case
  if (args.get("renorm", false)) {
    fail_at(args.at(), "{}: 'renorm' is not supported yet; leave it out", args.what());
  }
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const std::int64_t axis = read_axis(args.find("axis"), -1, b.shape(x).size());
  const double momentum = read_within(args, "momentum", 0.99, 0, 1);
  const NormalizationArguments arguments = read_normalization(args);
  const auto mean_init = read_initializer(args.find("moving_mean_initializer"), "zeros");
  const auto variance_init = read_initializer(args.find("moving_variance_initializer"), "ones");
  refuse_renormalization(args);
  const Shape channels = {b.shape(x)[static_cast<std::size_t>(axis)]};
  const ValueId gamma = add_gamma(scope, arguments, channels);
  ValueId beta = ops::constant(b, 0.0);
  if (const ValueId given = add_beta(scope, arguments, channels); given != kNoValue) beta = given;
  const Statistics moving{scope.non_trainable("moving_mean", channels, mean_init),
                          scope.non_trainable("moving_variance", channels, variance_init)};
  Statistics used = moving;
  if (scope.training() && scope.trainable()) {
    used = batch_statistics(b, x, moving.mean, axis);
    scope.update(moving.mean, moved(b, moving.mean, used.mean, momentum));
    scope.update(moving.variance, moved(b, moving.variance, used.variance, momentum));
  }
  ValueId scale = inverse_deviation(b, used.variance, arguments.epsilon);
  if (gamma != kNoValue) scale = ops::multiply(b, scale, gamma);
  const ValueId offset = ops::subtract(b, beta, ops::multiply(b, used.mean, scale));
  return b.add(ops::kScaleOffset, {x, scale, offset}, {{"axis", axis}});
}

}  // namespace

const LayerDef kBatchNormalization{
    .names = {"BatchNormalization"}, .build = build, .inside = Inside::kFloat32Variables};

}  // namespace meshwork::layers

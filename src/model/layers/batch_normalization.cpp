// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, each channel by itself. Training takes
// the statistics of the global batch and moves the averages that inference uses towards them:
// moving = momentum moving + (1 - momentum) batch.
#include "model/arguments.h"
#include "model/epsilon.h"
#include "model/layers/masks.h"
#include "model/layers/normalization.h"
#include "ops/channels.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

struct Statistics {
  ValueId mean = kNoValue;
  ValueId variance = kNoValue;
};

/// Mean and biased variance of every channel. The variance is taken around the mean: the
/// difference of squares around another number has no digits where that is far off.
Statistics batch_statistics(GraphBuilder& b, ValueId x, std::int64_t axis) {
  const Shape shape = b.shape(x);
  std::vector<std::int64_t> others;
  double count = 1;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    if (d == axis) continue;
    others.push_back(d);
    count *= static_cast<double>(shape[static_cast<std::size_t>(d)]);
  }
  const double part = count == 0 ? 0 : 1 / count;
  const Attrs summed{{"axes", others}, {"keepdims", false}, {"dtype", "float32"}};
  const ValueId near = ops::scale(b, b.add(ops::kReduceSum, {x}, summed), part);
  const ValueId means = ops::scale(b, b.add(ops::kShiftedSums, {x, near}, {{"axis", axis}}), part);
  const ValueId square = ops::square(b, ops::row(b, means, 1));
  // Rounding may take a variance of 0 below it.
  const ValueId variance = b.add(ops::kRelu, {ops::subtract(b, ops::row(b, means, 2), square)});
  return {ops::row(b, means, 0), variance};
}

/// The same over the positions that count, as Keras has them: divided by their number and epsilon.
Statistics masked_statistics(GraphBuilder& b, ValueId x, std::int64_t axis, ValueId mask) {
  const Shape shape = b.shape(x);
  std::vector<std::int64_t> others;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    if (d != axis) others.push_back(d);
  }
  const ValueId wide = ops::cast(b, x, DType::kFloat32);
  const ValueId counted = ops::broadcast_to(b, spread_mask(b, mask, x), shape);
  const ValueId count = ops::shift(b, ops::reduce_sum(b, counted, others, true), kEpsilon);
  const ValueId mean =
      ops::divide(b, ops::reduce_sum(b, where(b, mask, wide, 0), others, true), count);
  const ValueId difference = where(b, mask, ops::subtract(b, wide, mean), 0);
  const ValueId square = ops::square(b, difference);
  const ValueId variance = ops::divide(b, ops::reduce_sum(b, square, others, true), count);
  const Shape channels = {shape[static_cast<std::size_t>(axis)]};
  return {ops::reshape(b, mean, channels), ops::reshape(b, variance, channels)};
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
  const std::int64_t axis = read_sample_axis(args, b.shape(x).size());
  const double momentum = args.get("momentum", 0.99, config::between(0, 1));
  const NormalizationArguments arguments = read_normalization(args);
  const auto mean_init = read_initializer(args, "moving_mean_initializer", "zeros");
  const auto variance_init = read_initializer(args, "moving_variance_initializer", "ones");
  refuse_renormalization(args);
  const Shape channels = {b.shape(x)[static_cast<std::size_t>(axis)]};
  const ValueId gamma = add_gamma(scope, arguments, channels);
  ValueId beta = ops::constant(b, 0.0);
  if (const ValueId given = add_beta(scope, arguments, channels); given != kNoValue) beta = given;
  const Statistics moving{scope.non_trainable("moving_mean", channels, mean_init),
                          scope.non_trainable("moving_variance", channels, variance_init)};
  Statistics used = moving;
  if (scope.training() && scope.trainable()) {
    const ValueId mask = scope.mask(0);
    used = mask == kNoValue ? batch_statistics(b, x, axis) : masked_statistics(b, x, axis, mask);
    scope.update(moving.mean, moved(b, moving.mean, used.mean, momentum));
    scope.update(moving.variance, moved(b, moving.variance, used.variance, momentum));
  }
  ValueId scale = inverse_deviation(b, used.variance, arguments.epsilon);
  if (gamma != kNoValue) scale = ops::multiply(b, scale, gamma);
  const ValueId offset = ops::subtract(b, beta, ops::multiply(b, used.mean, scale));
  return b.add(ops::kScaleOffset, {x, scale, offset}, {{"axis", axis}});
}

}  // namespace

const LayerDef kBatchNormalization{.names = {"BatchNormalization"},
                                   .build = build,
                                   .inside = Inside::kFloat32Variables,
                                   .passes_mask = true,
                                   .mixes_samples = true};

}  // namespace meshwork::layers

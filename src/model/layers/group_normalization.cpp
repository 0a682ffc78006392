// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, the statistics over each group of
// channels of each sample
#include "model/arguments.h"
#include "model/layers/normalization.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

std::int64_t read_groups(config::Reader& args, std::int64_t channels) {
  const std::int64_t given = args.get("groups", 32);
  if (given < -1 || given == 0) {
    fail_at(args.at(), "{}: groups is {}; give 1 or more, or -1 for one of every channel",
            args.what(), given);
  }
  const std::int64_t groups = given == -1 ? channels : given;
  if (channels % groups != 0) {
    fail_at(args.at(), "{}: its input has {} channels, not divisible by groups, {}", args.what(),
            channels, groups);
  }
  return groups;
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape shape = b.shape(inputs[0]);
  const std::int64_t axis = read_sample_axis(args, shape.size());
  const auto dim = static_cast<std::size_t>(axis);
  const std::int64_t groups = read_groups(args, shape[dim]);
  const NormalizationArguments arguments = read_normalization(args);
  Shape grouped = shape;
  grouped[dim] = shape[dim] / groups;
  grouped.insert(grouped.begin() + axis, groups);
  std::vector<std::int64_t> axes;
  for (std::int64_t d = 1; d < static_cast<std::int64_t>(grouped.size()); ++d) {
    if (d != axis) axes.push_back(d);
  }
  const ValueId x = ops::reshape(b, inputs[0], grouped);
  const ValueId y = ops::reshape(b, standardize(b, x, axes, arguments.epsilon), shape);
  return scale_and_center(scope, arguments, y, {axis});
}

}  // namespace

const LayerDef kGroupNormalization{.names = {"GroupNormalization"},
                                   .build = build,
                                   .inside = Inside::kFloat32,
                                   .passes_mask = true};

}  // namespace meshwork::layers

// y = x where x > 0, else alpha x; alpha is one for every place of a sample, or shared along axes
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The shape of a sample, 1 along the shared axes.
Shape alpha_shape(config::Reader& args, const Shape& input) {
  const config::Value* shared = args.find("shared_axes");
  Shape shape(input.begin() + 1, input.end());
  if (shared == nullptr) return shape;
  for (const std::int64_t axis : shared->as_shape("shared_axes")) {
    if (axis < 1 || axis > static_cast<std::int64_t>(shape.size())) {
      fail_at(shared->at, "{}: shared_axes has {}; give 1 to {}, where 0 would be the batch",
              args.what(), axis, shape.size());
    }
    shape[static_cast<std::size_t>(axis - 1)] = 1;
  }
  return shape;
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const ValueId x = inputs[0];
  const Shape shape = alpha_shape(args, b.shape(x));
  const auto initializer = read_initializer(args, "alpha_initializer", "zeros");
  const ValueId alpha = scope.variable("alpha", shape, initializer);
  const ValueId below = b.add(ops::kRelu, {ops::negate(b, x)});
  const ValueId above = b.add(ops::kRelu, {x});
  return ops::subtract(b, above, ops::multiply(b, below, alpha));
}

}  // namespace

const LayerDef kPRelu{
    .names = {"PReLU"}, .build = build, .passes_mask = true, .is_activation = true};

}  // namespace meshwork::layers

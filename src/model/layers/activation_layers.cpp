// ReLU, LeakyReLU, ELU, Softmax: activations as layers of their own, and Identity
#include <algorithm>

#include "model/activations/activation.h"
#include "model/activations/parts.h"
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build_leaky_relu(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  const double given =
      args.get("negative_slope", 0.3, config::at_least(0));  // the activation's default is 0.2
  const double slope = args.get("alpha", given, config::at_least(0));  // its name in Keras 2
  return activations::leaky_relu(scope.builder(), inputs[0], slope);
}

template <const ActivationDef& activation>
ValueId build_activation(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  return activation.read(args)(scope.builder(), inputs[0]);
}

ValueId build_relu(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  for (const char* key : {"negative_slope", "threshold"}) args.get(key, 0.0, config::at_least(0));
  return build_activation<activations::kRelu>(scope, args, inputs);
}

/// Softmax over several axes together: these moved to the end and made one.
ValueId joint_softmax(GraphBuilder& b, ValueId x, const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> order;
  const auto rank = static_cast<std::int64_t>(b.shape(x).size());
  for (std::int64_t d = 0; d < rank; ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), d)) order.push_back(d);
  }
  const std::size_t kept = order.size();
  order.insert(order.end(), axes.begin(), axes.end());
  std::vector<std::int64_t> back(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) {
    back[static_cast<std::size_t>(order[d])] = static_cast<std::int64_t>(d);
  }
  const ValueId moved = ops::transpose(b, x, order);
  const Shape shape = b.shape(moved);
  const auto first = shape.begin() + static_cast<std::ptrdiff_t>(kept);
  Shape merged(shape.begin(), first);
  merged.push_back(num_elements(Shape(first, shape.end())));
  const auto last = static_cast<std::int64_t>(kept);
  const ValueId y = b.add(ops::kSoftmax, {ops::reshape(b, moved, merged)}, {{"axis", last}});
  return ops::transpose(b, ops::reshape(b, y, shape), back);
}

ValueId build_softmax(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const auto axes = read_sample_axes(args, b.shape(inputs[0]).size());
  if (scope.mask(0) != kNoValue) {
    fail_at(args.at(),
            "{}: its input has a mask of shape {}, which Keras would hold against the last "
            "dimensions of the logits, {}; take Activation: softmax, which passes the mask on",
            args.what(), to_string(b.shape(scope.mask(0))), to_string(b.shape(inputs[0])));
  }
  if (axes.size() > 1) return joint_softmax(b, inputs[0], axes);
  return b.add(ops::kSoftmax, {inputs[0]}, {{"axis", axes[0]}});
}

}  // namespace

const LayerDef kElu{.names = {"ELU"},
                    .build = build_activation<activations::kElu>,
                    .passes_mask = true,
                    .is_activation = true};

const LayerDef kIdentity{
    .names = {"Identity"},
    .build = [](Scope&, config::Reader&, std::span<const ValueId> inputs) { return inputs[0]; },
    .passes_mask = true,
};

const LayerDef kLeakyRelu{
    .names = {"LeakyReLU"}, .build = build_leaky_relu, .passes_mask = true, .is_activation = true};
const LayerDef kRelu{
    .names = {"ReLU"}, .build = build_relu, .passes_mask = true, .is_activation = true};
const LayerDef kSoftmax{.names = {"Softmax"}, .build = build_softmax, .is_activation = true};

}  // namespace meshwork::layers

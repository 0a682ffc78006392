// The inputs one after the other along `axis`
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

/// The mask of an input of `shape`, for all its dimensions but the last.
ValueId mask_of(Scope& scope, std::size_t input, Shape shape) {
  GraphBuilder& b = scope.builder();
  shape.pop_back();
  const ValueId mask = scope.mask(input);
  if (mask == kNoValue) return ops::broadcast_to(b, ops::constant(b, 1.0), shape);
  Shape spread = b.shape(mask);
  spread.resize(shape.size(), 1);
  return ops::broadcast_to(b, ops::reshape(b, mask, spread), shape);
}

/// The masks one after the other; along the last dimension, which masks have not, a position counts
/// where it does in any input.
void concatenate_masks(Scope& scope, std::span<const ValueId> inputs, std::int64_t axis) {
  GraphBuilder& b = scope.builder();
  std::vector<ValueId> masks;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) any = any || scope.mask(i) != kNoValue;
  if (!any) return;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    masks.push_back(mask_of(scope, i, b.shape(inputs[i])));
  }
  if (axis + 1 < static_cast<std::int64_t>(b.shape(inputs[0]).size())) {
    scope.set_mask(b.add(ops::kConcatenate, masks, {{"axis", axis}}));
    return;
  }
  ValueId merged = masks[0];
  for (const ValueId mask : masks) merged = ops::maximum(b, merged, mask);
  scope.set_mask(merged);
}

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape first = b.shape(inputs[0]);
  const std::int64_t axis = read_sample_axis(args, first.size());
  for (const ValueId input : inputs) {
    Shape expected = first;
    const Shape shape = b.shape(input);
    const auto dim = static_cast<std::size_t>(axis);
    if (shape.size() == first.size()) expected[dim] = shape[dim];
    if (shape != expected) {
      fail_at(args.at(), "{}: samples {} and {} differ not only in dimension {}", args.what(),
              sample_shape(first), sample_shape(shape), axis);
    }
  }
  concatenate_masks(scope, inputs, axis);
  return b.add(ops::kConcatenate, {inputs.begin(), inputs.end()}, {{"axis", axis}});
}

}  // namespace

const LayerDef kConcatenate{
    .names = {"Concatenate"}, .build = build, .min_inputs = 2, .max_inputs = kAnyNumber};

}  // namespace meshwork::layers

// The inputs one after the other along `axis`
#include "model/arguments.h"
#include "model/layers/layer.h"
#include "ops/ops.h"

namespace meshwork::layers {
namespace {

ValueId build(Scope& scope, config::Reader& args, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  const Shape first = b.shape(inputs[0]);
  const config::Value* given = args.find("axis");
  const std::int64_t axis = read_axis(given, -1, first.size());
  if (axis == 0) {
    fail_at(given == nullptr ? args.at() : given->at,
            "{}: axis 0 is the batch; give 1 to {}, or -1 for the last", args.what(),
            first.size() - 1);
  }
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
  return b.add(ops::kConcatenate, {inputs.begin(), inputs.end()}, {{"axis", axis}});
}

}  // namespace

const LayerDef kConcatenate{
    .names = {"Concatenate"}, .build = build, .min_inputs = 2, .max_inputs = kAnyNumber};

}  // namespace meshwork::layers

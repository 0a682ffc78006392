#include "model/layers/merge.h"

#include <algorithm>
#include <array>

#include "model/layers/masks.h"
#include "ops/elementwise.h"
#include "ops/ops.h"

namespace meshwork::layers {

std::vector<ValueId> to_one_rank(Scope& scope, const config::Reader& args,
                                 std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  std::size_t rank = 0;
  for (const ValueId input : inputs) rank = std::max(rank, b.shape(input).size());
  std::vector<ValueId> result;
  std::vector<TensorType> types;
  for (const ValueId input : inputs) {
    Shape shape = b.shape(input);
    shape.insert(shape.begin() + 1, rank - shape.size(), 1);
    result.push_back(b.shape(input) == shape ? input : ops::reshape(b, input, shape));
    types.push_back(b.type(result.back()));
  }
  try {
    ops::broadcast_shapes(types);
  } catch (const Error& error) {
    fail_at(args.at(), "{}: {}", args.what(), error.what());
  }
  return result;
}

std::vector<ValueId> masks_to_one_rank(Scope& scope, std::span<const ValueId> inputs) {
  GraphBuilder& b = scope.builder();
  std::size_t rank = 0;
  for (const ValueId input : inputs) rank = std::max(rank, b.shape(input).size());
  std::vector<ValueId> masks;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    masks.push_back(scope.mask(i));
    if (masks[i] == kNoValue) continue;
    Shape shape = b.shape(masks[i]);
    shape.insert(shape.begin() + 1, rank - b.shape(inputs[i]).size(), 1);
    masks[i] = ops::reshape(b, masks[i], shape);
  }
  return masks;
}

ValueId any_counts(GraphBuilder& b, std::span<const ValueId> masks) {
  ValueId any = masks[0];
  for (const ValueId mask : masks.subspan(1)) {
    any = any == kNoValue || mask == kNoValue ? kNoValue : ops::maximum(b, any, mask);
  }
  return any;
}

ValueId fold(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
             const OpDef& op) {
  const std::vector<ValueId> operands = to_one_rank(scope, args, inputs);
  scope.set_mask(any_counts(scope.builder(), masks_to_one_rank(scope, inputs)));
  ValueId y = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) y = scope.builder().add(op, {y, operands[i]});
  return y;
}

ValueId fold_what_counts(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
                         const OpDef& op) {
  GraphBuilder& b = scope.builder();
  const std::vector<ValueId> operands = to_one_rank(scope, args, inputs);
  const std::vector<ValueId> masks = masks_to_one_rank(scope, inputs);
  ValueId y = operands[0];
  ValueId counts = masks[0];
  for (std::size_t i = 1; i < operands.size(); ++i) {
    ValueId x = operands[i];
    if (masks[i] != kNoValue) x = choose(b, masks[i], x, y);
    if (counts != kNoValue) y = choose(b, counts, y, x);
    y = b.add(op, {y, x});
    counts = any_counts(b, std::array{counts, masks[i]});
  }
  scope.set_mask(counts);
  return y;
}

}  // namespace meshwork::layers

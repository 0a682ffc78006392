#include "model/layers/merge.h"

#include <algorithm>

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

ValueId fold(Scope& scope, const config::Reader& args, std::span<const ValueId> inputs,
             const OpDef& op) {
  const std::vector<ValueId> operands = to_one_rank(scope, args, inputs);
  ValueId y = operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) y = scope.builder().add(op, {y, operands[i]});
  return y;
}

}  // namespace meshwork::layers

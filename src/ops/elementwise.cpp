#include "ops/elementwise.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace meshwork::ops {

TensorType infer_unary(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1 && is_floating(args.inputs[0].dtype));
  return args.inputs[0];
}

Shape broadcast_shapes(std::span<const TensorType> inputs) {
  Shape result;
  for (const TensorType& input : inputs) {
    const Shape& shape = input.shape;
    if (shape.size() > result.size()) {
      result.insert(result.begin(), shape.size() - result.size(), 1);
    }
    const std::size_t missing = result.size() - shape.size();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t& extent = result[missing + d];
      if (extent == 1) {
        extent = shape[d];
      } else if (shape[d] != 1 && shape[d] != extent) {
        fail("cannot combine shapes {} and {}: dimension {} is {} and {}",
             to_string(inputs[0].shape), to_string(shape), missing + d, extent, shape[d]);
      }
    }
  }
  return result;
}

TensorType infer_broadcast(const OpArgs& args) {
  for (const TensorType& input : args.inputs) {
    MW_CHECK(input.dtype == args.inputs[0].dtype, "operands are {} and {}",
             to_string(args.inputs[0]), to_string(input));
  }
  return {args.inputs[0].dtype, broadcast_shapes(args.inputs)};
}

TensorType infer_comparison(const OpArgs& args) {
  TensorType result = infer_broadcast(args);
  if (result.dtype != DType::kBFloat16) result.dtype = DType::kFloat32;
  return result;
}

}  // namespace meshwork::ops

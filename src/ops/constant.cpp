// y = `value` everywhere
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {

const OpDef kConstant{
    .name = "constant",
    .infer = infer_leaf,
    .rule = leaf_rule,
    .flops = no_flops,
    .is_constant = true,
};

Attrs constant_attrs(double value, const TensorType& type) {
  return {{"value", value}, {"dtype", std::string(to_string(type.dtype))}, {"shape", type.shape}};
}

ValueId constant(GraphBuilder& b, double value, const TensorType& type) {
  return b.add(kConstant, {}, constant_attrs(value, type));
}

ValueId constant_like(GraphBuilder& b, double value, ValueId x) {
  const DType dtype = b.type(x).dtype;
  return constant(b, value, {is_floating(dtype) ? dtype : DType::kFloat32, {}});
}

}  // namespace meshwork::ops

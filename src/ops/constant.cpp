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

ValueId constant(GraphBuilder& b, double value) {
  return b.add(kConstant, {}, {{"value", value}, {"dtype", "float32"}, {"shape", Shape{}}});
}

ValueId constant_like(GraphBuilder& b, double value, ValueId x) {
  const DType dtype = is_floating(b.type(x).dtype) ? b.type(x).dtype : DType::kFloat32;
  return b.add(kConstant, {},
               {{"value", value}, {"dtype", std::string(to_string(dtype))}, {"shape", Shape{}}});
}

}  // namespace meshwork::ops

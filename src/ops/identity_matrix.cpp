// y[i, j] = gain where i = j, else 0 (Keras: Identity)
#include "base/error.h"
#include "ops/leaf.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  TensorType type = infer_leaf(args);
  if (type.shape.size() != 2) {
    fail("an identity matrix has two dimensions, not those of {}", to_string(type.shape));
  }
  return type;
}

}  // namespace

const OpDef kIdentityMatrix{
    .name = "identity_matrix",
    .infer = infer,
    .rule = leaf_rule,
    .flops = no_flops,
};

}  // namespace meshwork::ops

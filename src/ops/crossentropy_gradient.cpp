// dx[.., c] = d[.., 0] (1 where c = label[..], else 0, minus softmax x[.., c]); zeros for a label
// that is no class
#include "base/check.h"
#include "ops/crossentropy_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  Shape column = check_labels(args);
  column.push_back(1);
  MW_CHECK(args.inputs.size() == 3 && (args.inputs[2] == TensorType{DType::kFloat32, column}));
  return args.inputs[0];
}

// "a b [c], a b, a b 1 -> a b [c]"
std::string rule(const OpArgs& args) {
  const CrossentropyTexts texts = crossentropy_texts(args);
  return texts.logits + ", " + texts.labels + ", " + texts.labels + " 1 -> " + texts.logits;
}

}  // namespace

const OpDef kCrossentropyGradient{
    .name = "crossentropy_gradient",
    .infer = infer,
    .rule = rule,
    .in_place = true,
};

}  // namespace meshwork::ops

// dx[.., c] = d[.., 0] (1 where c = label[..], else 0, minus softmax x[.., c]); zeros for a label
// that is no class. d may be one number, an attribute; dx has the dtype of x, or the attribute
// dtype.
#include "base/check.h"
#include "ops/crossentropy_rule.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  Shape column = check_labels(args);
  column.push_back(1);
  const bool is_number = args.attrs.find("d") != nullptr;
  MW_CHECK(args.inputs.size() == (is_number ? 2 : 3));
  MW_CHECK(is_number || (args.inputs[2] == TensorType{DType::kFloat32, column}));
  TensorType result = args.inputs[0];
  if (args.attrs.find("dtype") != nullptr) {
    result.dtype = dtype_from_string(args.attrs.text("dtype"));
    MW_CHECK(is_floating(result.dtype));
  }
  return result;
}

// "a b [c], a b, a b 1 -> a b [c]"
std::string rule(const OpArgs& args) {
  const CrossentropyTexts texts = crossentropy_texts(args);
  const std::string d = args.inputs.size() > 2 ? ", " + texts.labels + " 1" : "";
  return texts.logits + ", " + texts.labels + d + " -> " + texts.logits;
}

}  // namespace

const OpDef kCrossentropyGradient{
    .name = "crossentropy_gradient",
    .infer = infer,
    .rule = rule,
    .in_place = true,
};

}  // namespace meshwork::ops

// y = the stored numbers x as those of training (ops/conversion.h)
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/conversion.h"
#include "ops/ops.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 1);
  return {converted_dtype(args), args.inputs[0].shape};
}

}  // namespace

DType converted_dtype(const OpArgs& args) {
  const DType dtype = dtype_from_string(args.attrs.text("dtype"));
  const bool normalizes = args.attrs.find("mean") != nullptr;
  MW_CHECK(dtype == DType::kFloat32 || (dtype == DType::kInt32 && !normalizes),
           "a conversion to {}", to_string(dtype));
  if (!normalizes) return dtype;
  const std::size_t channels = args.attrs.reals("mean").size();
  MW_CHECK(args.attrs.reals("std").size() == channels);
  const Shape& stored = args.inputs[0].shape;
  MW_CHECK(channels == 1 || stored.size() > 1, "{} means of samples without channels, {}", channels,
           to_string(stored));
  return dtype;
}

const OpDef kConvert{
    .name = "convert",
    .infer = infer,
    .rule = elementwise_rule,
    .field = FieldStep::kRead,
};

}  // namespace meshwork::ops

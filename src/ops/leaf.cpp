#include "ops/leaf.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork::ops {
namespace {

TensorType stated_type(const Attrs& attrs) {
  const Shape& shape = attrs.integers("shape");
  MW_CHECK(std::all_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent >= 0; }),
           "a leaf of shape {}", to_string(shape));
  const bool stated = attrs.find("dtype") != nullptr;
  return {stated ? dtype_from_string(attrs.text("dtype")) : DType::kFloat32, shape};
}

}  // namespace

TensorType infer_leaf(const OpArgs& args) {
  MW_CHECK(args.inputs.empty());
  return stated_type(args.attrs);
}

TensorType infer_random(const OpArgs& args) {
  MW_CHECK(args.inputs.size() <= 1);
  if (!args.inputs.empty()) {
    MW_CHECK(args.inputs[0] == (TensorType{DType::kInt64, {}}), "a step of {}",
             to_string(args.inputs[0]));
  }
  return stated_type(args.attrs);
}

}  // namespace meshwork::ops

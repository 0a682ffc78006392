#include "ops/result_dtype.h"

#include "base/check.h"

namespace meshwork::ops {

DType result_dtype(const OpArgs& args) {
  const DType own = args.inputs[0].dtype;
  if (args.attrs.find("dtype") == nullptr) return own;
  const DType asked = dtype_from_string(args.attrs.text("dtype"));
  MW_CHECK(asked == own || (asked == DType::kFloat32 && is_narrow_float(own)), "{} of {}",
           to_string(asked), to_string(own));
  return asked;
}

}  // namespace meshwork::ops

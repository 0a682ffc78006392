// y[i, ..] = samples[rows[i], ..] as numbers of training (ops/conversion.h); 0 for a row that is
// not there
#include "base/check.h"
#include "graph/dim_rule.h"
#include "ops/conversion.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 2 && !args.inputs[0].shape.empty());
  MW_CHECK(args.inputs[1].dtype == DType::kInt32 && args.inputs[1].shape.size() == 1);
  TensorType result{converted_dtype(args), args.inputs[0].shape};
  result.shape[0] = args.inputs[1].shape[0];
  return result;
}

// "[d] [e] [f], a -> a b c": every device has all samples and takes just its part of the rows, and
// of each row.
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  std::string samples;
  for (std::size_t d = 0; d < rank; ++d) {
    samples += (d > 0 ? " [" : "[") + factor_name(rank + d) + "]";
  }
  return samples + ", a -> " + factor_names(rank);
}

}  // namespace

const OpDef kTakeRows{
    .name = "take_rows",
    .infer = infer,
    .rule = rule,
    .field = FieldStep::kRead,
};

}  // namespace meshwork::ops

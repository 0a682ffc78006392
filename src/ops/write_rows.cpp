// y[b, s, ..] = rows[b, s - start[b], ..] where there is such a row, else x[b, s, ..]: what a
// sequence has been is kept in x, a part at a time. Rows beyond the end of x are left out. Only
// programs without a backward pass have it.
#include "base/check.h"
#include "base/error.h"
#include "ops/ops.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

TensorType infer(const OpArgs& args) {
  MW_CHECK(args.inputs.size() == 3);
  const TensorType& x = args.inputs[0];
  const TensorType& rows = args.inputs[1];
  Shape fitting = x.shape;
  if (x.shape.size() >= 2 && rows.shape.size() >= 2) fitting[1] = rows.shape[1];
  if (x.shape.size() < 2 || x.dtype != rows.dtype || rows.shape != fitting) {
    fail("cannot write rows {} into {}: all but their number has to be the same", to_string(rows),
         to_string(x));
  }
  MW_CHECK(args.inputs[2] == (TensorType{DType::kInt32, {x.shape[0]}}), "rows from {} on",
           to_string(args.inputs[2]));
  return x;
}

// "a b c d, a [e] c d, a -> a b c d": a device that holds a part of the places b writes the rows
// that lie in it.
std::string rule(const OpArgs& args) {
  const std::size_t rank = args.inputs[0].shape.size();
  std::string rows = factor_name(0) + " [" + factor_name(rank) + "]";
  std::string all = factor_name(0) + " " + factor_name(1);
  for (std::size_t d = 2; d < rank; ++d) {
    rows += " " + factor_name(d);
    all += " " + factor_name(d);
  }
  return all + ", " + rows + ", " + factor_name(0) + " -> " + all;
}

}  // namespace

const OpDef kWriteRows{
    .name = "write_rows",
    .infer = infer,
    .rule = rule,
    .flops = no_flops,
    .in_place = true,
};

}  // namespace meshwork::ops

#include "backend/cpu/gemm.h"
#include "backend/cpu/row_blocks.h"
#include "backend/equation.h"
#include "base/check.h"

namespace meshwork::cpu {
namespace {

/// y = x w by rows also where y is one column, of which a plan would compute the transpose.
EinsumPlan plan_by_rows(const Equation& equation) {
  EinsumPlan plan = plan_einsum(equation, false);
  if (plan.n != 1 || !plan.swapped) return plan;
  plan.y.columns = plan.w.columns = 1;
  plan.swapped = false;
  return plan;
}

}  // namespace

RowBlocks product_rows(const FusionGroup& args, const FusionGroup::Member& member,
                       std::int64_t block) {
  const TensorView &x = args.inputs.at(member.operands[0]), &w = args.inputs.at(member.operands[1]);
  const EinsumPlan plan =
      plan_by_rows(parse_equation(member.attrs.text("equation"), x.type.shape, w.type.shape));
  MW_CHECK(Gemm::can_compute(plan) && !plan.copies(), "no product by rows: {}",
           member.attrs.text("equation"));
  const Gemm gemm(plan, x.data, w.data, nullptr);
  const std::int64_t row = member.output.type.shape[1];
  return {.block = block,
          .compute = [gemm, row](const std::int32_t* /*scratch*/, std::int64_t begin,
                                 std::int64_t end, float* to) {
            gemm.rows({begin / row, end / row}, to);
          }};
}

}  // namespace meshwork::cpu

// reduce_sum(x) number -> scaled_sum(x): a mean in one kernel. Single numbers stay apart: passes
// over them are launched together.
#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

/// Sums of rows are taken within passes as they are.
void run(Graph& program, const Target& /*target*/) {
  const Readers readers(program);
  for (const ValueId id : program.ids()) {
    Node& product = program.node(id);
    if (product.op != &ops::kMultiply || program.global_shape(id).empty()) continue;
    for (const std::size_t place : {0U, 1U}) {
      const ValueId input = product.inputs[place], number = product.inputs[1 - place];
      const Node& sum = program.node(input);
      const bool is_sum = sum.op == &ops::kReduceSum && !is_row_sum(program, input);
      if (!is_sum || !is_number(program, number) || readers.count(input) != 1) continue;
      const bool is_of_shape = program.global_shape(input) == program.global_shape(id);
      const bool is_alike = sum.type.dtype == product.type.dtype && sum.phase == product.phase;
      if (!is_of_shape || !is_alike) continue;
      const double factor = program.node(number).attrs.real("value");
      product.op = &ops::kScaledSum;
      product.attrs = sum.attrs;
      product.attrs.set("factor", factor);
      product.inputs = sum.inputs;
      break;
    }
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kScaledSum{.name = "scaled_sum", .run = run, .makes = {&ops::kScaledSum}};
}  // namespace rewriting

}  // namespace meshwork

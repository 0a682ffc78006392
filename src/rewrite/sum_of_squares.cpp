// reduce_sum(square(x)) -> sum_of_squares(x): the norm of a gradient without a tensor of squares
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
    Node& sum = program.node(id);
    if (sum.op != &ops::kReduceSum || is_row_sum(program, id)) continue;
    const ValueId input = sum.inputs[0];
    const Node& square = program.node(input);
    if (square.op != &ops::kSquare || square.type.dtype != DType::kFloat32) continue;
    if (readers.count(input) != 1 || square.phase != sum.phase) continue;
    sum.op = &ops::kSumOfSquares;
    sum.inputs = square.inputs;
  }
}

}  // namespace

namespace rewriting {
const RewriteDef kSumOfSquares{
    .name = "sum_of_squares", .run = run, .makes = {&ops::kSumOfSquares}};
}  // namespace rewriting

}  // namespace meshwork

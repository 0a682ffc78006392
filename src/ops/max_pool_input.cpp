// The gradient of max_pool: dy of every window goes to the first, in row-major order, of the
// greatest elements of x in it. Attributes as of max_pool, `extents` those of x.
#include "ops/ops.h"
#include "ops/window.h"

namespace meshwork::ops {
namespace {

/// x and dy: the windows of an element, and all that these windows read.
Reach reach(const OpArgs& args, std::size_t operand, std::size_t dim) {
  return operand == 0 ? neighbour_reach(window_of(args.attrs, dim - 1))
                      : pool_input_reach(args, operand, dim);
}

}  // namespace

const OpDef kMaxPoolInput{
    .name = "max_pool_input",
    .infer = infer_pool,
    .rule = pool_rule,
    .reach = reach,
    .flops = pool_flops,
};

}  // namespace meshwork::ops

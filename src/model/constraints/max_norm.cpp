// Weights whose norm is above max_value come down to it.
#include "model/constraints/norm.h"
#include "ops/ops.h"

namespace meshwork::constraints {
namespace {

Constraint read(config::Reader& args) {
  const double most = args.get("max_value", 2.0, config::at_least(0));
  return read_norm(args, [most](GraphBuilder& b, ValueId norm) {
    return ops::minimum(b, norm, ops::constant(b, most));
  });
}

}  // namespace

const ConstraintDef kMaxNorm{.names = {"MaxNorm", "max_norm"}, .read = read};

}  // namespace meshwork::constraints

// Norms go from n to rate clip(n, min_value, max_value) + (1 - rate) n.
#include "model/constraints/norm.h"
#include "ops/ops.h"

namespace meshwork::constraints {
namespace {

Constraint read(config::Reader& args) {
  const double least = args.get("min_value", 0.0, config::at_least(0));
  const double most = args.get("max_value", 1.0, config::at_least(0));
  const double rate = args.get("rate", 1.0);
  if (least > most) {
    fail_at(args.at(), "{}: min_value is {}, which is above max_value, {}; give it {} or less",
            args.what(), least, most, most);
  }
  return read_norm(args, [=](GraphBuilder& b, ValueId norm) {
    const ValueId within = ops::clip(b, norm, least, most);
    if (rate == 1) return within;
    return ops::add(b, ops::scale(b, within, rate), ops::scale(b, norm, 1 - rate));
  });
}

}  // namespace

const ConstraintDef kMinMaxNorm{.names = {"MinMaxNorm", "min_max_norm"}, .read = read};

}  // namespace meshwork::constraints

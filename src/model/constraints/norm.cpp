#include "model/constraints/norm.h"

#include <numeric>
#include <optional>

#include "model/arguments.h"
#include "model/epsilon.h"
#include "ops/ops.h"

namespace meshwork::constraints {

Constraint read_norm(config::Reader& args, WantedNorm wanted) {
  const bool takes_all = is_null(args, "axis");
  const config::Value* const given = args.find("axis");
  const std::optional<config::Value> axis = given == nullptr ? std::nullopt : std::optional(*given);
  return [=, wanted = std::move(wanted)](GraphBuilder& b, ValueId w) {
    const std::size_t rank = b.shape(w).size();
    std::vector<std::int64_t> axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (!takes_all) axes = read_axes(axis ? &*axis : nullptr, 0, rank);
    const ValueId sum = ops::reduce_sum(b, ops::square(b, w), axes, true);
    const ValueId norm = ops::sqrt(b, sum);
    const ValueId factor = ops::divide(b, wanted(b, norm), ops::shift(b, norm, kEpsilon));
    return ops::multiply(b, w, factor);
  };
}

}  // namespace meshwork::constraints

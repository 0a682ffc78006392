#pragma once

#include <functional>

#include "model/constraints/constraint.h"

namespace meshwork::constraints {

/// The norms that a weight shall have, of those that it has.
using WantedNorm = std::function<ValueId(GraphBuilder& b, ValueId norm)>;

/// w wanted(n) / (n + 1e-7) with the norms n of w over `axis`, a dimension or a list of them, 0 if
/// absent, and null for all.
Constraint read_norm(config::Reader& args, WantedNorm wanted);

}  // namespace meshwork::constraints

#pragma once

#include <utility>

#include "backend/backend.h"
#include "plan/fusion_groups.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// The passes that make a plan of a local program, one after the other.
inline Plan make_plan(Graph program, const MemoryQuery& query, bool fusions = true) {
  const Target target = cpu_target(1);
  Plan plan;
  Fused fused{update_early(with_overwrite_edges(std::move(program))), {}};
  if (fusions) fused = find_fusion_groups(fused.program, target);
  plan.program = std::move(fused.program);
  schedule(plan, target, fused.fusion);
  ask_for_memory(plan, query);
  lay_out_memory(plan, target, 0);
  return plan;
}

}  // namespace meshwork::testing

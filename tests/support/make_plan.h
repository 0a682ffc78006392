#pragma once

#include <utility>

#include "backend/backend.h"
#include "plan/fusion_groups.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// The passes that make a plan of a local program, one after the other.
inline Plan make_plan(Graph program, const MemoryQuery& query, bool fusions = true) {
  static const Target kTarget = cpu_target(1);
  Plan plan;
  Fused fused{arranged(with_overwrite_edges(std::move(program)), kTarget), {}};
  if (fusions) fused = find_fusion_groups(std::move(fused.program), kTarget);
  plan.program = std::move(fused.program);
  schedule(plan, kTarget, fused.fusion);
  ask_for_memory(plan, query);
  lay_out_memory(plan, kTarget, 0);
  return plan;
}

}  // namespace meshwork::testing

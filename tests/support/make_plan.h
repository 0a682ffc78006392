#pragma once

#include <utility>

#include "backend/backend.h"
#include "plan/chains.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// The passes that make a plan of a local program, one after the other.
inline Plan make_plan(Graph program, const WorkspaceQuery& workspace, bool chains = true) {
  const Target target = cpu_target(1);
  Plan plan;
  Chained chained{update_early(with_overwrite_edges(std::move(program))), {}};
  if (chains) chained = find_chains(chained.program, target);
  plan.program = std::move(chained.program);
  schedule(plan, target, chained.chain);
  ask_for_workspaces(plan, workspace);
  lay_out_memory(plan, target, 0);
  return plan;
}

}  // namespace meshwork::testing

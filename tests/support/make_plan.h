#pragma once

#include <utility>

#include "plan/chains.h"
#include "plan/plan.h"

namespace meshwork::testing {

/// The passes that make a plan of a local program, one after the other.
inline Plan make_plan(Graph program, const WorkspaceQuery& workspace, bool chains = true) {
  Plan plan;
  Chained chained{update_early(with_overwrite_edges(std::move(program))), {}};
  if (chains) chained = find_chains(chained.program);
  plan.program = std::move(chained.program);
  schedule(plan, chained.chain);
  ask_for_workspaces(plan, workspace);
  lay_out_memory(plan, 0);
  return plan;
}

}  // namespace meshwork::testing

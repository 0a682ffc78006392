#pragma once

#include <string>
#include <string_view>

#include "compile.h"
#include "graph/op_def.h"
#include "support/training.h"

namespace meshwork::testing {

/// The program of a training step on the first device, after all rewrites.
inline Graph rewritten(const Job& job) {
  return compile_for_device(
             compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 8),
             job.mesh, 0, {})
      .program;
}
inline Graph rewritten(const std::string& text) { return rewritten(job_of(text, "")); }

inline int count(const Graph& program, std::string_view op) {
  int found = 0;
  for (const Node& node : program.nodes) found += node.op->name == op ? 1 : 0;
  return found;
}

}  // namespace meshwork::testing

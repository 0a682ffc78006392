#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "graph/pass.h"
#include "model/program_kind.h"
#include "plan/plan.h"
#include "sharding/layout_map.h"
#include "sharding/propagate.h"
#include "spmd/device_kinds.h"
#include "spmd/partition.h"
#include "spmd/rematerialize.h"
#include "target.h"

namespace meshwork {

/// Names of the passes, in order.
std::vector<std::string> pass_names();

/// A program for all devices: partitioned, but with global shapes.
struct GlobalProgram {
  Partitioned partitioned;
  std::vector<LayoutMatch> variables;  ///< of its graph.variables
  std::vector<Segment> segments;       ///< whose values the backward pass computes again,
  std::vector<SegmentCost> costs;      ///< and what that gains
  Target target;                       ///< that it is compiled for
  std::vector<std::string> fusions;    ///< names of those to be done
  std::vector<std::string> notes;      ///< for the user: rules that lay out nothing, masks that end
};

/// What the compiler found on the way to a program, for those who ask why.
struct CompileTrace {
  PinnedLayouts pinned;  ///< `values` are those of the graph before it was laid out
  LaidOut laid_out;
  Partitioned agreed;  ///< with the reshards as nodes
};

/// Who is told of a compilation, and what is asked of devices.
struct CompileOptions {
  Watch watch = {};
  CompileTrace* trace = nullptr;  ///< is told what was found on the way
  MemoryQuery query = {};         ///< what it says counts towards a limit of memory
};

/// Config, mesh and target -> what all devices run. Pure: every device gets the same.
/// Errors of the user's layouts are found here. Where the file limits memory, a training program
/// computes as much again as it takes to meet the limit on every device; an Error if that is not
/// enough.
GlobalProgram compile(const config::Config& config, const Signature& signature, const Mesh& mesh,
                      const Target& target, ProgramKind kind, std::int64_t batch,
                      const CompileOptions& options = {});

/// The part of one device, with memory laid out behind the first `reserved` bytes of variables.
Plan compile_for_device(const GlobalProgram& program, const Mesh& mesh, int device,
                        const MemoryQuery& query, std::int64_t reserved = 0,
                        const Watch& watch = {});

}  // namespace meshwork

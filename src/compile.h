#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/config.h"
#include "model/model.h"
#include "plan/plan.h"
#include "sharding/layout_map.h"
#include "sharding/propagate.h"
#include "spmd/partition.h"
#include "spmd/rematerialize.h"

namespace meshwork {

/// What a program is for. All over one configuration share their variables, weights first.
enum class ProgramKind {
  kInitialize,  ///< gives every variable its initial value
  kTrain,       ///< forward, backward, update
  kEvaluate,    ///< loss and metrics
  kPredict,     ///< the output of the model
  kAccumulate,  ///< forward, backward; gradients are kept for the next kTrain
  kAverage,     ///< puts the averages that the optimizer keeps in the place of the weights
};

/// Receives the text of a stage: "forward", "step", "layouts", "rematerialize", "reshards",
/// "collectives", "local", "rewritten", "plan".
using Dump = std::function<void(std::string_view stage, const std::string& text)>;

/// Names of the stages, in order.
const std::vector<std::string>& stages();

/// A program for all devices: partitioned, but with global shapes.
struct GlobalProgram {
  Partitioned partitioned;
  std::vector<LayoutMatch> variables;  ///< of its graph.variables
  std::vector<Segment> segments;       ///< whose values the backward pass computes again,
  std::vector<SegmentCost> costs;      ///< and what that gains
  std::vector<std::string> fusions;    ///< names of those to be done
  std::vector<std::string> notes;      ///< for the user: rules that lay out nothing
};

/// What the compiler found on the way to a program, for those who ask why.
struct CompileTrace {
  PinnedLayouts pinned;  ///< `values` are those of the graph before it was laid out
  LaidOut laid_out;
  Partitioned agreed;  ///< with the reshards as nodes
};

/// The graph of a step before any device is thought of; `absent` as in build_model().
Graph build_step(const config::Config& config, const Signature& signature, ProgramKind kind,
                 std::int64_t batch, const Dump& dump = {},
                 std::map<std::string, std::string>* absent = nullptr);

/// Config and mesh -> what all devices run. Pure: every device gets the same.
/// Errors of the user's layouts are found here. `trace` is told what was found on the way. Where
/// the file limits memory, a training program computes as much again as it takes to meet the limit
/// on every device; `workspace` counts towards it. An Error if that is not enough.
GlobalProgram compile(const config::Config& config, const Signature& signature, const Mesh& mesh,
                      ProgramKind kind, std::int64_t batch, const Dump& dump = {},
                      CompileTrace* trace = nullptr, const WorkspaceQuery& workspace = {});

/// Throws the configuration Error of a plan that takes more than the file allows.
void check_memory_limit(const config::Config& config, const std::string& program,
                        const MemoryUse& use, int device);
/// "a training step with a batch of 128".
std::string describe(ProgramKind kind, std::int64_t batch);

/// The part of one device, with memory laid out behind the first `reserved` bytes of variables.
Plan compile_for_device(const GlobalProgram& program, const Mesh& mesh, int device,
                        const WorkspaceQuery& workspace, std::int64_t reserved = 0,
                        const Dump& dump = {});

}  // namespace meshwork

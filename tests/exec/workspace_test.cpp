// What a plan asks a backend for needs no device.
#include <doctest/doctest.h>

#include "base/check.h"
#include "exec/executable.h"
#include "graph/op_def.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kAlignment = 256;
constexpr std::int64_t kScratch = 100;  ///< bytes of a sum

/// Kernels of a machine that is not here: of all ops, and of sums several at once, with scratch.
class AbsentBackend : public Backend {
 public:
  Device& device() const override { MW_CHECK(false, "a plan asks for a device"); }
  const KernelDef* find(std::string_view /*op*/) const override {
    static const KernelDef kernel{"any", [](const KernelArgs&) { return Launch(); }};
    return &kernel;
  }
  Launch bind(const KernelDef&, const KernelArgs&, Stream&) const override { return {}; }
  Launch bind_fusion(const FusionGroup&, Stream&) const override { return {}; }
  std::int64_t fusion_workspace(const FusionGroup& group) const override {
    return is_sum(group.members.front().op) ? kScratch : 0;
  }

  static bool is_sum(std::string_view op) { return op == "reduce_sum"; }
};

/// Like a GPU: launching takes long, and sums are launched together.
Target absent_target() {
  return {.name = "absent",
          .alignment = kAlignment,
          .launch_bytes = std::int64_t{1} << 20U,
          .fusions = {"horizontal"},
          .several_at_once = {"reduce_sum"}};
}

const char* const kText = R"(
mesh: {data: 1}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [50, 6]}, y: {integers: [50], below: 3}}}
model: {input: [6], layers: [Dense: {units: 37, activation: relu}, Dense: {units: 3}]}
compile:
  optimizer: adam
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 50}
)";

}  // namespace

TEST_CASE("sums side by side are planned for a machine that is not here") {
  const Job job = job_of(kText, "");
  const AbsentBackend backend;
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, absent_target(), ProgramKind::kTrain, 50);
  MemoryQuery query;
  query.workspace = [&](const Graph& local, const Instruction& instruction) {
    return kernel_workspace(backend, local, instruction);
  };
  const Plan plan = compile_for_device(program, job.mesh, 0, query);
  int joined = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind != Instruction::Kind::kKernel || instruction.passes < 2) continue;
    const Node& first = plan.program.node(instruction.nodes.front());
    if (!AbsentBackend::is_sum(first.op->name)) continue;
    ++joined;
    CHECK(instruction.nodes_of_pass() == 1);
    // The scratch of each begins where any device reads a line.
    CHECK(instruction.workspace_bytes == (instruction.passes - 1) * kAlignment + kScratch);
    CHECK(instruction.workspace % kAlignment == 0);
    CHECK(instruction.workspace + instruction.workspace_bytes <= plan.arena_bytes);
  }
  CHECK(joined > 0);
}

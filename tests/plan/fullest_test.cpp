// When a plan has most in use, and what.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "compile.h"
#include "graph/op_def.h"
#include "plan/fullest.h"
#include "plan/uses.h"
#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

Plan plan_of(const std::string& text, const std::string& mesh, ProgramKind kind,
             std::int64_t workspace) {
  const Job job = job_of(text, mesh);
  MemoryQuery query;
  query.workspace = [=](const Graph& program, const Instruction& instruction) {
    const bool is_product = program.node(instruction.nodes.front()).op->name == "einsum";
    return is_product ? workspace : 0;
  };
  return compile_for_device(compile(job.config, job.signature, job.mesh, job.target, kind, 8),
                            job.mesh, 0, query);
}

/// Bytes in use during an instruction, each counted in a map of the arena.
std::int64_t bytes_in_use(const Plan& plan, int i) {
  const Uses uses(plan);
  std::set<std::int64_t> used;
  const auto add = [&](std::int64_t begin, std::int64_t bytes) {
    for (std::int64_t at = begin; at < begin + bytes; ++at) used.insert(at);
  };
  for (const ValueId id : plan.program.ids()) {
    const bool is_alive = std::max(uses.made_by[id], 0) <= i && uses.last[id] >= i;
    if (plan.offsets[id] < plan.step_begin || !is_alive || uses.root[id] != id) continue;
    add(plan.offsets[id], num_bytes(plan.program.type(id)));
  }
  const Instruction& instruction = plan.instructions[static_cast<std::size_t>(i)];
  add(instruction.workspace, instruction.workspace_bytes);
  return static_cast<std::int64_t>(used.size());
}

}  // namespace

TEST_CASE("no moment has more in use than the fullest, of which all is told") {
  for (std::uint64_t seed = 4200; seed < 4212; ++seed) {
    const RandomModel model = random_model(seed);
    CAPTURE(seed);
    const Plan plan = plan_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh,
                              ProgramKind::kTrain, seed % 2 == 0 ? 4000 : 0);
    const Fullest fullest = fullest_moment(plan);
    REQUIRE(fullest.instruction >= 0);
    std::int64_t most = 0;
    int first = -1;
    for (int i = 0; i < static_cast<int>(plan.instructions.size()); ++i) {
      const std::int64_t bytes = bytes_in_use(plan, i);
      if (bytes > most) first = i;
      most = std::max(most, bytes);
    }
    CHECK(fullest.bytes == most);
    CHECK(fullest.instruction == first);
    CHECK(fullest.bytes <= plan.live_bytes - plan.step_begin);
    std::int64_t all = 0;
    for (const Fullest::Held& held : fullest.values) all += held.bytes;
    CHECK(all == fullest.bytes);
    CHECK(std::ranges::is_sorted(fullest.values, std::greater<>(), &Fullest::Held::bytes));
  }
}

TEST_CASE("scratch memory of a kernel counts where it is used") {
  const std::string text = R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 4]}, y: {normal: [8, 2]}}}}
model: {input: [4], layers: [Dense: {units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)";
  const Plan plan = plan_of(text, "", ProgramKind::kTrain, 100000);
  const Fullest fullest = fullest_moment(plan);
  REQUIRE_FALSE(fullest.values.empty());
  CHECK(fullest.values.front().value == kNoValue);
  CHECK(fullest.values.front().bytes == 100000);
  const Instruction& at = plan.instructions[static_cast<std::size_t>(fullest.instruction)];
  CHECK(plan.program.node(at.nodes.front()).op->name == "einsum");
}

TEST_CASE("a program without instructions has no fullest moment") {
  Plan plan;
  CHECK(fullest_moment(plan).instruction == -1);
  CHECK(fullest_moment(plan).values.empty());
}

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compile.h"
#include "graph/op_def.h"
#include "rewrite/program.h"
#include "rewrite/rewrite.h"
#include "support/calls.h"
#include "support/ops_by_name.h"
#include "support/text/parse.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kHeads = 3, kWidth = 4;
constexpr const char* kOff = "fusion: {attention_blocks: false}\n";

/// Attention over a sequence that is cut over the axis `model`.
std::string text_of(std::int64_t steps, std::int64_t batch, const std::string& layouts = "") {
  return fmt::format(R"(
strategy: model_parallel
layout_map:
  '(first|mixed|last)/output': [data, model]
{4}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [{1}, {0}, 6]}}, y: {{normal: [{1}, {0}, 5]}}}}}}}}
model:
  input: [{0}, 6]
  layers:
    - Dense: {{name: first, units: 6}}
    - MultiHeadAttention: {{name: mixed, num_heads: {2}, key_dim: {3}, use_causal_mask: true, inputs: [first, first]}}
    - Dense: {{name: last, units: 5}}
compile: {{optimizer: sgd, loss: mse}}
fit: {{batch_size: {1}}}
)",
                     steps, batch, kHeads, kWidth, layouts);
}

Plan plan_of(const std::string& text, const std::string& mesh, int device,
             std::int64_t bucket = 0) {
  Job job = job_of(text, mesh);
  job.target.bucket = bucket;
  return compile_for_device(compile(job.config, job.signature, job.mesh, job.target,
                                    ProgramKind::kTrain, job.config.fit.batch_size),
                            job.mesh, device, {});
}

bool is_block(const Node& node) {
  return node.op->collective == Collective::kAllGather && node.path == "mixed";
}

/// What a device gives to all gathers, or reduce-scatters, of keys and values in one phase: of the
/// own block, and of all blocks.
struct Given {
  std::int64_t own = 0, all = 0;
};
Given given_in(const Plan& plan, Collective kind, Phase phase) {
  Given given;
  for (const Node& node : plan.program.nodes) {
    if (node.op->collective != kind || node.phase != phase || node.path != "mixed") continue;
    const auto& counts = node.collective->counts;
    given.own += counts[static_cast<std::size_t>(node.collective->own)];
    given.all += std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  }
  return given;
}

/// The most gathered values that are under way or in use at once.
int most_at_once(const Plan& plan) {
  std::vector<int> change(plan.instructions.size() + 2, 0);
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& start = plan.instructions[i];
    if (start.kind != Instruction::Kind::kStart) continue;
    const ValueId id = start.nodes.front();
    if (!is_block(plan.program.node(id))) continue;
    std::size_t last = i;
    for (std::size_t k = i; k < plan.instructions.size(); ++k) {
      for (const ValueId reader : plan.instructions[k].nodes) {
        const auto& inputs = plan.program.node(reader).inputs;
        if (std::count(inputs.begin(), inputs.end(), id) > 0) last = k;
      }
    }
    ++change[i];
    --change[last + 1];
  }
  int now = 0, most = 0;
  for (const int c : change) most = std::max(most, now += c);
  return most;
}

/// Two devices, whose keys are gathered for `more` besides.
std::string gathered(const std::string& more) {
  return R"(
%0 = input() {name="q", dtype="float32", shape=[1, 8, 1, 1, 2]} : float32[1, 4, 1, 1, 2] of [1, 8, 1, 1, 2] at [0, 0, 0, 0, 0]  # forward
%1 = input() {name="k", dtype="float32", shape=[1, 8, 1, 2]} : float32[1, 4, 1, 2] of [1, 8, 1, 2] at [0, 0, 0, 0]  # forward
%2 = all_gather(%1) {axes=[0], members=[0, 1], own=0, counts=[8, 8]} : float32[1, 8, 1, 2] of [1, 8, 1, 2] at [0, 0, 0, 0]  # forward
%3 = attention(%0, %2, %2) {scale=1.0, causal=true, window=0, rate=0.0, key=1} : float32[1, 4, 1, 1, 2] of [1, 8, 1, 1, 2] at [0, 0, 0, 0, 0]  # forward
)" + more;
}

/// How often keys are gathered, after the rewrite.
int gathers_of(const std::string& text) {
  Graph program = parse(text, op_of);
  verify(program);
  for (const RewriteDef* rewrite : rewrites()) {
    if (rewrite->name == "attention_blocks") rewrite->run(program, Target());
  }
  program = prune(program);
  verify(program);
  return count(program, "all_gather");
}

}  // namespace

TEST_CASE("each key and value goes to the other devices once in a pass, each gradient to its own") {
  constexpr std::int64_t kRow = kHeads * kWidth;
  for (const std::int64_t devices : {2, 4, 8}) {
    for (const std::int64_t steps : {16, 10}) {
      const Plan plan = plan_of(text_of(steps, 2), fmt::format("data=1,model={}", devices), 0);
      CAPTURE(devices);
      CAPTURE(steps);
      const std::int64_t own = 2 * ((steps + devices - 1) / devices) * kRow;
      const std::int64_t all = 2 * steps * kRow;
      for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
        const Given blocks = given_in(plan, Collective::kAllGather, phase);
        CHECK(blocks.own == 2 * own);
        CHECK(blocks.all == 2 * all);
      }
      CHECK(given_in(plan, Collective::kReduceScatter, Phase::kForward).all == 0);
      CHECK(given_in(plan, Collective::kReduceScatter, Phase::kBackward).all == 2 * all);
    }
  }
}

TEST_CASE("one block is in use and one under way, whatever the number of devices") {
  for (const char* mesh : {"data=1,model=2", "data=1,model=4", "data=1,model=8"}) {
    for (const std::int64_t batch : {1, 2}) {
      CAPTURE(mesh);
      CHECK(most_at_once(plan_of(text_of(16, batch), mesh, 1)) == 4);  // keys and values of each
    }
  }
}

TEST_CASE("all devices come to the same order of collectives, whatever they hold") {
  const std::string by_heads =
      "  mixed/(query|key|value)/kernel: [null, data]\n  mixed/(query|key|value)/bias: [data]\n";
  for (const char* mesh : {"data=1,model=4", "data=2,model=4", "data=4,model=3"}) {
    for (const std::int64_t steps : {16, 10, 3}) {
      for (const std::string& layouts : {std::string(), by_heads}) {
        for (const std::int64_t batch : {1, 3}) {
          CAPTURE(mesh);
          CAPTURE(steps);
          CAPTURE(layouts);
          CAPTURE(batch);
          const std::string text = text_of(steps, batch, layouts);
          const auto first = calls_of(plan_of(text, mesh, 0));
          for (int device = 1; device < job_of(text, mesh).mesh.num_devices(); ++device) {
            CAPTURE(device);
            CHECK(calls_of(plan_of(text, mesh, device)) == first);
          }
        }
      }
    }
  }
}

TEST_CASE("blocks that do not fill the links are gathered as one") {
  const std::string text = text_of(16, 2);
  const std::int64_t block = 2 * 4 * kHeads * kWidth * 4;  // bytes of the keys of one of 4 devices
  const auto gathers = [&](const std::string& more, std::int64_t bucket) {
    const Plan plan = plan_of(text + more, "data=1,model=4", 0, bucket);
    return std::count_if(plan.program.nodes.begin(), plan.program.nodes.end(), is_block);
  };
  CHECK(gathers("", block) == 16);
  CHECK(gathers("", block + 1) == 2);
  CHECK(gathers(kOff, 0) == 2);
}

TEST_CASE("keys that something else reads whole are gathered whole") {
  CHECK(gathers_of(gathered("output \"y\" = %3\n")) == 2);
  CHECK(gathers_of(gathered("output \"y\" = %3\noutput \"keys\" = %2\n")) == 1);
  CHECK(gathers_of(gathered(R"(
%4 = square(%2) : float32[1, 8, 1, 2] of [1, 8, 1, 2] at [0, 0, 0, 0]  # forward
output "y" = %3
output "squares" = %4
)")) == 1);
  // A gradient that all devices have of all keys.
  CHECK(gathers_of(gathered(R"(
%4 = attention_log_sum(%0, %2, %2) {scale=1.0, causal=true, window=0, rate=0.0, key=1} : float32[1, 4, 1, 1] of [1, 8, 1, 1] at [0, 0, 0, 0]  # backward
%5 = attention_key_gradient(%0, %2, %2, %3, %4, %4) {scale=1.0, causal=true, window=0, rate=0.0, key=1} : float32[1, 8, 1, 2] of [1, 8, 1, 2] at [0, 0, 0, 0]  # backward
%6 = all_reduce(%5) {axes=[0], members=[0, 1], reduction="sum"} : float32[1, 8, 1, 2] of [1, 8, 1, 2] at [0, 0, 0, 0]  # backward
output "y" = %3
output "dk" = %6
)")) == 1);
}

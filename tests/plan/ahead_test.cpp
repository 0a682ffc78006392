// Weights that are gathered before they are read: when, how many, on all devices alike.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "compile.h"
#include "graph/op_def.h"
#include "plan/check_memory.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// Each weight is gathered by the forward pass and, but for the first layer's, by the backward
/// pass.
const std::string kSharded = R"(
mesh: {data: 3}
strategy: model_parallel
layout_map: {'.*/(kernel|bias)': [data]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [512, 40]}, y: {normal: [512, 40]}}}}
model: {input: [40], layers: [Dense: {units: 40, activation: relu}, Dense: {units: 40, activation: relu}, Dense: {units: 40}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 512}
)";
constexpr std::int64_t kKernel = 40 * 40 * 4;

Plan plan_of(const std::string& text, std::int64_t prefetch, int device = 0,
             std::int64_t small_message = 0) {
  Job job = job_of(text, "");
  job.target.prefetch = prefetch;
  job.target.small_message = small_message;
  job.target.fusions.insert("small_gathers");
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 512);
  return compile_for_device(program, job.mesh, device, {});
}

/// An all-gather of weights, and the instructions where it starts and is waited for.
struct Gather {
  std::string path;
  std::int64_t bytes = 0;
  int start = 0;
  int finish = 0;
};

std::vector<Gather> gathers(const Plan& plan) {
  std::vector<Gather> found;
  for (int i = 0; i < std::ssize(plan.instructions); ++i) {
    const Instruction& instruction = plan.instructions[static_cast<std::size_t>(i)];
    if (instruction.kind == Instruction::Kind::kStart) {
      const ValueId id = instruction.nodes.front();
      const Node& node = plan.program.node(id);
      if (node.op->collective != Collective::kAllGather) continue;
      found.push_back({node.path, num_bytes(node.type), i, 0});
    } else if (instruction.kind == Instruction::Kind::kFinish) {
      const auto gather = std::ranges::find(found, instruction.started, &Gather::start);
      if (gather != found.end()) gather->finish = i;
    }
  }
  return found;
}

/// The most that is under way at a time, of what `amount` says of each gather.
std::int64_t most_under_way(const std::vector<Gather>& all, auto amount) {
  std::int64_t most = 0;
  for (const Gather& at : all) {
    std::int64_t now = 0;
    for (const Gather& other : all) {
      if (other.start <= at.start && at.start < other.finish) now += amount(other);
    }
    most = std::max(most, now);
  }
  return most;
}

std::int64_t count(const Gather& /*gather*/) { return 1; }
std::int64_t bytes(const Gather& gather) { return gather.bytes; }

int first_product(const Plan& plan) {
  const auto is_product = [&](const Instruction& instruction) {
    return !instruction.nodes.empty() &&
           plan.program.node(instruction.nodes.front()).op->name == std::string_view("einsum");
  };
  const auto found = std::ranges::find_if(plan.instructions, is_product);
  return static_cast<int>(found - plan.instructions.begin());
}

}  // namespace

TEST_CASE("weights are gathered when they are read where the target fetches nothing ahead") {
  const std::vector<Gather> all = gathers(plan_of(kSharded, 0));
  REQUIRE(all.size() >= 5);  // kernels, twice but for the first
  CHECK(most_under_way(all, count) == 1);
  for (const Gather& gather : all) CHECK(gather.finish == gather.start + 1);
}

TEST_CASE("the next weight is gathered while a layer is computed, however large it is") {
  const Plan plan = plan_of(kSharded, 1);
  const std::vector<Gather> all = gathers(plan);
  REQUIRE(all.size() >= 5);
  CHECK(most_under_way(all, count) == 1);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CAPTURE(all[i].path);
    CHECK(all[i].start == all[i - 1].finish + 1);
    CHECK(all[i].finish > all[i].start + 1);
  }
  check_memory(plan);
}

TEST_CASE("as many weights are gathered ahead as the target says in bytes") {
  const Plan plan = plan_of(kSharded, 2 * kKernel + 100);
  const std::vector<Gather> all = gathers(plan);
  CHECK(most_under_way(all, bytes) > kKernel);
  CHECK(most_under_way(all, bytes) <= 2 * kKernel + 100);
  check_memory(plan);

  const Plan at_once = plan_of(kSharded, 1 << 20);
  for (const Gather& gather : gathers(at_once)) CHECK(gather.start < first_product(at_once));
  check_memory(at_once);
}

TEST_CASE("small weights that are gathered as one come before the weights that are read later") {
  const Plan plan = plan_of(kSharded, 2 * kKernel, 0, 200);
  const std::vector<Gather> all = gathers(plan);
  const auto biases = std::ranges::find(all, 3 * 40 * 4, &Gather::bytes);
  REQUIRE(biases != all.end());
  CHECK(biases - all.begin() == 1);  // behind the kernel of the first product
  CHECK(biases->start < first_product(plan));
  CHECK(std::ranges::count(all, kKernel, &Gather::bytes) == std::ssize(all) - 1);
  check_memory(plan);
}

TEST_CASE("all devices gather ahead in the same order") {
  for (const std::int64_t prefetch : {std::int64_t{1}, kKernel, 3 * kKernel}) {
    for (const std::int64_t small_message : {0, 200}) {
      const auto order = [&](int device) {
        std::vector<std::string> paths;
        for (const Gather& gather : gathers(plan_of(kSharded, prefetch, device, small_message))) {
          paths.push_back(fmt::format("{} {} {}", gather.start, gather.finish, gather.path));
        }
        return paths;
      };
      CHECK(order(1) == order(0));
      CHECK(order(2) == order(0));
    }
  }
}

TEST_CASE("what an update gives is gathered behind it") {
  const auto replaced = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  std::string text = replaced(kSharded, "strategy: model_parallel\n", "");
  text = replaced(text, "layout_map: {'.*/(kernel|bias)'", "optimizer_layout: {'.*'");
  text = replaced(text, "optimizer: sgd", "optimizer: adam");
  const Plan plan = plan_of(text, 1 << 20);
  const std::vector<Gather> all = gathers(plan);
  CHECK(!all.empty());
  for (const Gather& gather : all) CHECK(gather.start > first_product(plan));
  check_memory(plan);
}

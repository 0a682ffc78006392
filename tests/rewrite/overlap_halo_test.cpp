#include <doctest/doctest.h>

#include <algorithm>

#include "compile.h"
#include "graph/op_def.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr const char* kTraining = R"(
strategy: model_parallel
layout_map: {input/output: [data, height, null, null]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [4, 24, 8, 3]}, y: {normal: [4, 4]}}}}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4}
)";

constexpr const char* kModel = R"(
model:
  input: [24, 8, 3]
  layers:
    - Conv2D: {name: first, filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - BatchNormalization:
    - Conv2D: {name: second, filters: 4, kernel_size: 5, padding: same, use_bias: false}
    - BatchNormalization:
    - MaxPooling2D: {pool_size: 3, strides: 1, padding: same}
    - GlobalAveragePooling2D:
)";

/// The last device has all the rows that its windows read.
constexpr const char* kStrided = R"(
model:
  input: [24, 8, 3]
  layers: [Conv2D: {filters: 4, kernel_size: 3, strides: 2}, GlobalAveragePooling2D: ]
)";

constexpr const char* kOff = "fusion: {overlap_halo: false}\n";

Plan plan_of(const std::string& model, int device, const std::string& more = "") {
  const Job job = job_of(kTraining + model + more, "data=1,height=3");
  return compile_for_device(
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 4), job.mesh,
      device, {});
}

int count(const Graph& program, std::string_view op) {
  return static_cast<int>(std::count_if(program.nodes.begin(), program.nodes.end(),
                                        [&](const Node& node) { return node.op->name == op; }));
}

/// Numbers of instructions.
struct Exchange {
  std::size_t start, finish;
};

std::vector<Exchange> exchanges(const Plan& plan) {
  std::vector<Exchange> found;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const Instruction& instruction = plan.instructions[i];
    if (instruction.kind != Instruction::Kind::kFinish) continue;
    const auto start = static_cast<std::size_t>(instruction.started);
    const ValueId id = plan.instructions[start].nodes.front();
    if (plan.program.node(id).op->name == "all_to_all") found.push_back({start, i});
  }
  return found;
}

bool convolves_between(const Plan& plan, const Exchange& exchange) {
  for (std::size_t i = exchange.start + 1; i < exchange.finish; ++i) {
    const Instruction& instruction = plan.instructions[i];
    if (instruction.nodes.empty()) continue;
    if (plan.program.node(instruction.nodes.front()).op->name.starts_with("convolution"))
      return true;
  }
  return false;
}

}  // namespace

TEST_CASE("tiles of convolutions are not put together with their halos, those of pools are") {
  const Plan plain = plan_of(kModel, 1, kOff);
  const Plan split = plan_of(kModel, 1);
  // x of either convolution, the gradient of the second with respect to its images; the pool and
  // its gradient
  CHECK(count(plain.program, "halo_unpack") - count(split.program, "halo_unpack") == 3);
  CHECK(count(split.program, "halo_unpack") > 0);
  CHECK(count(plain.program, "all_to_all") == count(split.program, "all_to_all"));
  CHECK(split.live_bytes <= plain.live_bytes);
}

TEST_CASE("each neighbour's piece is added to the rows that read it") {
  // Windows 3 high, of either neighbour, and 5 high: two images and one gradient.
  CHECK(count(plan_of(kModel, 1).program, "add_part") == 6);
  // At the edge there is but one neighbour.
  CHECK(count(plan_of(kModel, 0).program, "add_part") == 3);
  const Graph program = plan_of(kModel, 1).program;
  for (const Node& node : program.nodes) {
    if (node.op->name != "add_part") continue;
    const Shape& piece = program.type(node.inputs[1]).shape;
    CHECK(piece[1] == (node.path == "first" ? 1 : 2));
    const std::int64_t start = node.attrs.integer("start");
    CHECK((start == 0 || start + piece[1] == node.type.shape[1]));
  }
}

TEST_CASE("a device computes of its own part while the halo is under way") {
  const auto overlapped = [](const Plan& plan) {
    const auto all = exchanges(plan);
    return std::count_if(all.begin(), all.end(),
                         [&](const Exchange& e) { return convolves_between(plan, e); });
  };
  CHECK(overlapped(plan_of(kModel, 1, kOff)) == 0);
  CHECK(overlapped(plan_of(kModel, 1)) == 3);
}

TEST_CASE("devices that miss nothing take part in the exchange") {
  for (int device = 0; device < 3; ++device) {
    CAPTURE(device);
    const Graph plain = plan_of(kStrided, device, kOff).program;
    const Graph split = plan_of(kStrided, device).program;
    CHECK(count(plain, "all_to_all") == 1);
    CHECK(count(split, "all_to_all") == 1);
    CHECK(count(split, "halo_unpack") == 0);
    CHECK(count(split, "add_part") == 1);
  }
}

// Whether a plan's memory holds what each instruction reads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "compile.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/check_memory.h"
#include "plan/writers.h"
#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

Plan plan_of(const std::string& text, ProgramKind kind, std::int64_t batch = 8, int device = 0) {
  const Job job = job_of(text, "");
  return compile_for_device(compile(job.config, job.signature, job.mesh, job.target, kind, batch),
                            job.mesh, device, {});
}

/// A perceptron of two layers, trained by Adam.
std::string perceptron(const std::string& keys, int batch, int features) {
  return fmt::format(R"(
{}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [{}, {}]}}, y: {{normal: [{}, 5]}}}}}}}}
model: {{input: [{}], layers: [Dense: {{units: 50}}, Dense: {{units: 5}}]}}
compile: {{optimizer: adam, loss: mse}}
fit: {{batch_size: {}}}
)",
                     keys, batch, features, batch, features, batch);
}

}  // namespace

TEST_CASE("nothing is overwritten that is still read, in plans of random models") {
  MemoryQuery query;
  query.workspace = [](const Graph& program, const Instruction& instruction) {
    const bool is_product = program.node(instruction.nodes.front()).op->name == "einsum";
    return is_product ? std::int64_t{1000} : std::int64_t{0};
  };
  for (std::uint64_t seed = 1000; seed < 1100; ++seed) {
    const RandomModel model = seed % 4 == 0 ? random_transformer(seed) : random_model(seed);
    CAPTURE(seed);
    CAPTURE(model.mesh);
    CAPTURE(model.layouts + model.text);
    Job job = job_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh);
    if (seed % 3 == 0) {
      job.target.fusions.insert("horizontal");
      job.target.launch_bytes = seed % 2 == 0 ? 1 << 20 : 300;
      job.target.small_copy = 1 << 14;
    }
    if (seed % 2 == 0) {
      job.target.fusions.insert("stacks");
      job.target.stacked.insert({"einsum", "einsum_bias"});
    }
    for (const ProgramKind kind : {ProgramKind::kInitialize, ProgramKind::kTrain,
                                   ProgramKind::kEvaluate, ProgramKind::kPredict}) {
      const GlobalProgram program =
          compile(job.config, job.signature, job.mesh, job.target, kind, 5);
      for (const int device : {0, job.mesh.num_devices() - 1}) {
        check_memory(compile_for_device(program, job.mesh, device, query));
      }
    }
  }
}

TEST_CASE("parts that one pass gives are computed where they stand in the whole") {
  const Plan plan = plan_of(R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 7, 3]}, y: {normal: [8, 2]}}}}
model: {input: [7, 3], layers: [LSTM: {units: 16}, Dense: {units: 2}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8}
)",
                            ProgramKind::kTrain);
  check_memory(plan);
  int wholes = 0;
  for (const ValueId id : plan.program.ids()) {
    const Node& node = plan.program.node(id);
    // The gradients of the four gates, which one pass computes in each step.
    if (node.op->name != "concatenate" || node.type.shape != Shape{4, 8, 16}) continue;
    ++wholes;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      CHECK(plan.offsets[node.inputs[k]] ==
            plan.offsets[id] + static_cast<std::int64_t>(k * 8 * 16 * sizeof(float)));
    }
  }
  CHECK(wholes == 7);
}

TEST_CASE("nothing is overwritten where parts stand in wholes") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const RandomModel model = seed % 4 == 0 ? random_transformer(seed) : random_recurrent(seed);
    CAPTURE(seed);
    CAPTURE(model.layouts + model.text);
    const Job job = job_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh);
    const GlobalProgram program =
        compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 16);
    for (const int device : {0, job.mesh.num_devices() - 1}) {
      check_memory(compile_for_device(program, job.mesh, device, {}));
    }
  }
}

TEST_CASE("passes that wait for others take no more memory than launching is worth") {
  int joined = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const RandomModel model = seed % 3 == 0   ? random_transformer(seed)
                              : seed % 3 == 1 ? random_convnet(seed)
                                              : random_model(seed);
    const Job job = job_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh);
    const auto plan = [&](const Target& target) {
      return compile_for_device(
          compile(job.config, job.signature, job.mesh, target, ProgramKind::kTrain, 5), job.mesh, 0,
          {});
    };
    for (const std::int64_t launch_bytes : {0, 300, 5000, 1 << 20}) {
      CAPTURE(seed);
      CAPTURE(launch_bytes);
      Target target = job.target;
      target.launch_bytes = launch_bytes;
      const Plan apart = plan(target);
      target.fusions.insert("horizontal");
      const Plan together = plan(target);
      CHECK(together.live_bytes <= apart.live_bytes + launch_bytes);
      CHECK(together.instructions.size() <= apart.instructions.size());
      joined += together.instructions.size() < apart.instructions.size() ? 1 : 0;
    }
  }
  CHECK(joined > 60);
}

TEST_CASE("optimizer state is updated in place, without copies") {
  const Plan plan = plan_of(perceptron("mesh: {data: 2}", 8, 30), ProgramKind::kTrain);
  CHECK(plan.copies.empty());
  // Nor are gradients copied to be reduced together, with the loss.
  std::size_t joined = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.kind != Instruction::Kind::kStart) continue;
    for (const ValueId id : instruction.nodes) {
      CHECK(plan.offsets[static_cast<std::size_t>(id)] ==
            plan.offsets[static_cast<std::size_t>(plan.program.node(id).inputs[0])]);
    }
    joined = std::max(joined, instruction.nodes.size());
  }
  CHECK(joined == 5);
}

TEST_CASE(
    "a new value that devices compute by blocks is written and gathered where the old one is") {
  const std::string text =
      perceptron("mesh: {data: 3}\noptimizer_layout: {.*/kernel: [data]}", 9, 31);
  for (int device = 0; device < 3; ++device) {
    CAPTURE(device);
    const Plan plan = plan_of(text, ProgramKind::kTrain, 9, device);
    const auto offset = [&](ValueId id) { return plan.offsets[static_cast<std::size_t>(id)]; };
    CHECK(plan.copies.empty());
    int gathered = 0;
    for (const Update& update : plan.program.updates) {
      const ValueId value = viewed(plan.program, update.value);
      const Node& node = plan.program.node(value);
      if (node.op->collective != Collective::kAllGather) continue;
      ++gathered;
      CHECK(offset(value) == offset(update.variable));
      CHECK(offset(node.inputs[0]) == offset(value) + block_begin(plan.program, value));
    }
    CHECK(gathered == 2);
    for (const ValueId id : plan.program.ids()) {
      CHECK((plan.program.node(id).op->name != "slice" || is_view(plan.program, id)));
    }
    check_memory(plan);
  }
}

TEST_CASE("memory among the reserved bytes is left alone") {
  const Job job = job_of(R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 30]}, y: {normal: [8, 5]}}}}
model: {input: [30], layers: [Dense: {units: 5}]}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 8}
)",
                         "");
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kEvaluate, 8);
  constexpr std::int64_t kReserved = 1 << 20;
  const Plan plan = compile_for_device(program, job.mesh, 0, {}, kReserved);
  CHECK(plan.variable_bytes < kReserved);
  for (std::size_t v = 0; v < plan.offsets.size(); ++v) {
    const bool variable = plan.program.nodes[v].op->name == "variable";
    const bool is_placed = plan.offsets[v] != Plan::kNoPlace;
    CHECK((variable || is_view(plan.program, static_cast<ValueId>(v)) || !is_placed ||
           plan.offsets[v] >= kReserved));
  }
}

namespace {

/// Weights far larger than the values of a step.
std::string wide(const std::string& optimizer) {
  return R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 64]}, y: {normal: [8, 4]}}}}
model:
  input: [64]
  layers:
    - Dense: {units: 256}
    - Dense: {units: 256}
    - Dense: {units: 256}
    - Dense: {units: 4}
compile: {loss: mse, optimizer: )" +
         optimizer + "}\nfit: {batch_size: 8}\n";
}

constexpr std::int64_t kLargestGradient = 256 * 256 * 4;

}  // namespace

TEST_CASE("a gradient is freed before the next one comes") {
  // Three gradients are of nearly this size; what updates compute is written in their place.
  const auto gradients = [](const std::string& optimizer) {
    const std::string text = wide(optimizer) + "fusion: {elementwise: false}\n";
    return static_cast<double>(memory_use(plan_of(text, ProgramKind::kTrain)).step) /
           static_cast<double>(kLargestGradient);
  };
  CHECK(gradients("sgd") >= 1);
  CHECK(gradients("sgd") < 1.2);
  CHECK(gradients("{SGD: {momentum: 0.9}}") < 2.2);
  CHECK(gradients("adam") < 3.2);
}

TEST_CASE("a gradient of a small batch is never there as a whole") {
  for (const char* optimizer :
       {"sgd", "{SGD: {momentum: 0.9}}", "adam", "{SGD: {gradient_accumulation_steps: 4}}"}) {
    CAPTURE(optimizer);
    const std::string text = wide(optimizer);
    CHECK(memory_use(plan_of(text, ProgramKind::kTrain)).step < 0.5 * kLargestGradient);
  }
}

TEST_CASE("gradients that accumulate take the place of gradients: one more is alive at a time") {
  const std::string text =
      wide("{SGD: {gradient_accumulation_steps: 4}}") + "fusion: {elementwise: false}\n";
  const Plan plan = plan_of(text, ProgramKind::kAccumulate);
  CHECK(plan.copies.empty());
  const MemoryUse use = memory_use(plan);
  CHECK(use.optimizer >= use.weights);  // the accumulators, with padding
  CHECK(use.optimizer < 1.1 * static_cast<double>(use.weights));
  CHECK(use.step >= kLargestGradient);
  CHECK(use.step < 1.2 * kLargestGradient);
  CHECK(memory_use(plan_of(text, ProgramKind::kTrain)).step < 1.2 * kLargestGradient);
}

TEST_CASE("an arena has few holes") {
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    const RandomModel model = random_convnet(seed);
    CAPTURE(seed);
    const Job job = job_of("mesh: {data: 1}\n" + model.text, "1");
    const Plan plan = compile_for_device(
        compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 5), job.mesh,
        0, {});
    CHECK(plan.live_bytes <= plan.arena_bytes);
    CHECK(static_cast<double>(plan.arena_bytes) < 1.1 * static_cast<double>(plan.live_bytes));
  }
}

TEST_CASE("what the host gives and takes in a step stands side by side") {
  std::string text = perceptron("mesh: {data: 1}", 8, 30);
  text.replace(text.find("loss: mse"), 9, "loss: mse, metrics: [mae, mse]");
  const Plan plan = plan_of(text, ProgramKind::kTrain);
  const auto places_of = [&](const auto& values) {
    std::map<std::int64_t, std::int64_t> ends;
    for (const ValueId id : values) {
      const std::int64_t begin = plan.offsets[static_cast<std::size_t>(id)];
      ends[begin] = begin + cpu_target(1).aligned(num_bytes(plan.program.type(id)));
    }
    return ends;
  };
  std::vector<ValueId> inputs, results;
  for (const ValueId id : plan.program.ids()) {
    if (plan.program.node(id).op->leaf == Leaf::kInput) inputs.push_back(id);
  }
  for (const NamedValue& output : plan.program.outputs) results.push_back(output.value);
  CHECK(inputs.size() == 4);  // two fields, the iteration, the learning rate
  CHECK(results.size() == 5);
  for (const auto& ends : {places_of(inputs), places_of(results)}) {
    for (auto place = ends.begin(); std::next(place) != ends.end(); ++place) {
      CHECK(place->second == std::next(place)->first);
    }
  }
}

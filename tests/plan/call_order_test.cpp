// Devices whose parts differ in size come to one order of collectives: each of them waits for the
// others in every one.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "ops/ops.h"
#include "plan/pass_elements.h"
#include "sharding/layout.h"
#include "support/calls.h"
#include "support/random_model.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

void check_order(const Job& job, std::int64_t batch) {
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, batch);
  const auto first = calls_of(compile_for_device(program, job.mesh, 0, {}));
  for (int device = 1; device < job.mesh.num_devices(); ++device) {
    CAPTURE(device);
    CHECK(calls_of(compile_for_device(program, job.mesh, device, {})) == first);
  }
}

/// Of each instruction the ops of its nodes.
std::vector<std::string> passes_of(const Plan& plan) {
  std::vector<std::string> passes;
  for (const Instruction& instruction : plan.instructions) {
    std::string& pass = passes.emplace_back();
    for (const ValueId id : instruction.nodes) {
      pass += fmt::format("{} ", plan.program.node(id).op->name);
    }
  }
  return passes;
}

/// The last kernel is in parts of 4 and 3 columns, of which gradients are summed over `data`; norms
/// are summed over both axes.
const std::string kUneven = R"(
mesh: {data: 2, model: 2}
layout_map: {logits/kernel: [null, model], logits/bias: [model], h/output: [data, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [8, 6]}, y: {normal: [8, 7]}}}}
model: {input: [6], layers: [Dense: {units: 8}, Dense: {name: h, units: 8}, Dense: {units: 8}, Dense: {name: logits, units: 7}]}
compile: {optimizer: {Adam: {clipnorm: 1.0}}, loss: mse}
fit: {batch_size: 8}
)";

/// Kernels of which devices gather parts that differ in size, block after block.
const std::string kUnevenWeights = R"(
mesh: {data: 3, model: 2}
layout_map: {'.*/kernel': [null, [model, data]], '.*/output': [data, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [90, 6]}, y: {normal: [90, 7]}}}}
model: {input: [6], layers: [Dense: {units: 7}, Dense: {units: 5}, Dense: {units: 11}, Dense: {units: 7}]}
compile: {optimizer: {SGD: {momentum: 0.9}}, loss: mse}
fit: {batch_size: 90}
)";

}  // namespace

TEST_CASE("buckets close at the same gradient on all devices") {
  for (std::int64_t bucket = 16; bucket <= 1024; bucket += 16) {
    CAPTURE(bucket);
    Job job = job_of(kUneven, "");
    job.target.bucket = bucket;
    check_order(job, 8);
  }
}

TEST_CASE("gathers of weights start at the same places on all devices, and the same are joined") {
  for (std::int64_t bytes = 16; bytes <= 512; bytes += 16) {
    CAPTURE(bytes);
    Job job = job_of(kUnevenWeights, "");
    job.target.prefetch = bytes;
    check_order(job, 90);
    job.target.fusions.insert({"small_gathers", "small_scatters"});
    job.target.small_message = bytes;
    check_order(job, 90);
  }
}

TEST_CASE("whether a row is whole is the same on all devices, however uneven their parts are") {
  for (const std::int64_t extent : {0, 1, 2, 3, 16, 17}) {
    for (const int parts : {1, 2, 3, 4, 20}) {
      const Mesh mesh{{"model"}, {parts}};
      std::set<bool> found;
      for (int device = 0; device < parts; ++device) {
        const Layout layout{.dims = {{}, {0}}, .halos = {}, .partial = {}};
        const Shape global{3, extent};
        Graph program;
        program.append({.op = &ops::kSquare,
                        .inputs = {},
                        .attrs = {},
                        .type = {DType::kFloat32, local_shape(global, layout, mesh, device)},
                        .path = {}},
                       local_region(global, layout, mesh, device));
        found.insert(elements_of(program, 0).has_rows);
      }
      CAPTURE(extent);
      CAPTURE(parts);
      CHECK(found.size() == 1);
    }
  }
}

/// Sums of rows, and rows of one element, which the first device along `model` has alone.
const std::string kSumsOfRows = R"(
mesh: {data: 2, model: 2}
strategy: model_parallel
layout_map: {mean/output: [data, null, model], unit/output: [data, model]}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [7, 3, 17]}, y: {normal: [7, 3]}}}}
model:
  input: [3, 17]
  layers:
    - LayerNormalization
    - Dense: {name: mean, units: 1}
    - Activation: {activation: tanh}
    - Flatten
    - Dense: {units: 17}
    - UnitNormalization: {name: unit}
    - Dense: {units: 3}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 7}
)";

TEST_CASE("all devices make the same passes of what adds up rows") {
  Job job = job_of(kSumsOfRows, "");
  for (const bool joins : {false, true}) {
    if (joins) job.target.launch_bytes = 1 << 20;
    const GlobalProgram program =
        compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 7);
    const auto first = passes_of(compile_for_device(program, job.mesh, 0, {}));
    for (int device = 1; device < job.mesh.num_devices(); ++device) {
      CHECK(passes_of(compile_for_device(program, job.mesh, device, {})) == first);
    }
  }
}

/// A batch of one sample, which one device has; what it computes is of one step.
const std::string kOneSample = R"(
mesh: {a: 2, b: 3}
batch_axis: [a, b]
strategy: model_parallel
layout_map:
  cross/value/kernel: [null, a, null]
  cross/key/bias: [null, b]
  enc/output: [[a, b], null, null]
  norm/gamma: [[a, b]]
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [1, 4, 6]}, y: {normal: [1, 4, 6]}}}}
model:
  input: [4, 6]
  layers:
    - TransformerEncoder: {name: enc, intermediate_dim: 5, num_heads: 3}
    - MultiHeadAttention: {name: cross, num_heads: 2, key_dim: 3, inputs: [enc, enc]}
    - LayerNormalization: {name: norm}
    - Attention: {use_scale: true, inputs: [norm, enc]}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: mse}
fit: {batch_size: 1}
)";

TEST_CASE("devices without the only sample come to the collectives of the one that has it") {
  check_order(job_of(kOneSample, ""), 1);
}

TEST_CASE("all devices of random models come to one order of collectives") {
  for (std::uint64_t seed = 2000; seed < 2090; ++seed) {
    const RandomModel model = seed % 3 == 0   ? random_transformer(seed)
                              : seed % 3 == 1 ? random_convnet(seed)
                                              : random_model(seed);
    CAPTURE(seed);
    CAPTURE(model.mesh);
    CAPTURE(model.layouts + model.text);
    Job job = job_of(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh);
    job.target.bucket = std::int64_t{16} << seed % 7;
    job.target.small_message = std::int64_t{8} << seed % 5;
    job.target.small_copy = std::int64_t{8} << seed % 6;
    if (seed % 2 == 0) {
      job.target.fusions.insert({"horizontal", "small_gathers", "small_scatters"});
      job.target.prefetch = 200;
      job.target.launch_bytes = 300;
    }
    check_order(job, 5);
  }
}

// What weights, and optimizers, in parts over the axes of the batch take and send (Rajbhandari et
// al. 2020, ZeRO; Zhao et al. 2023, PyTorch FSDP).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/op_def.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kWidth = 64;

/// so many square layers.
std::string text_of(int depth, const std::string& more) {
  std::string layers;
  for (int i = 0; i < depth; ++i) layers += fmt::format("    - Dense: {{units: {}}}\n", kWidth);
  return fmt::format(R"(
mesh: {{data: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [1024, {0}]}}, y: {{normal: [1024, {0}]}}}}}}}}
model:
  input: [{0}]
  layers:
{1}compile: {{optimizer: adam, loss: mse}}
fit: {{batch_size: 1024}}
)",
                     kWidth, layers) +
         more;
}

constexpr const char* kFsdp = "strategy: model_parallel\nlayout_map: {'.*kernel': [data]}\n";
constexpr const char* kZero =
    "strategy: model_parallel\nlayout_map: {}\noptimizer_layout: {'.*kernel': [data]}\n";

std::int64_t step_bytes(const Plan& plan) { return plan.arena_bytes - plan.step_begin; }

std::vector<std::string> ops_of(const std::vector<Sent>& sent) {
  std::vector<std::string> ops;
  for (const Sent& one : sent) ops.push_back(one.op);
  return ops;
}

}  // namespace

TEST_CASE("gradients of weights in parts are scattered and freed as the backward pass goes") {
  const std::string narrow = "precision: mixed_bfloat16\n";
  for (const std::string& layouts : {std::string(kFsdp), std::string(kZero), kFsdp + narrow}) {
    CAPTURE(layouts);
    const auto bytes = [&](int depth) {
      Job job = job_of(text_of(depth, layouts), "data=4");
      job.target.bucket = kWidth * kWidth * 4;  // a gradient
      const GlobalProgram program =
          compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 1024);
      return step_bytes(compile_for_device(program, job.mesh, 0, {}));
    };
    // Of each layer more: its activation of 256 samples, but no gradient.
    const std::int64_t more = (bytes(24) - bytes(12)) / 12;
    CHECK(more < kWidth * 4 * 256 + kWidth * kWidth * 4 / 8);
  }
}

TEST_CASE("weights in parts over one of two axes of the batch are scattered, then added up") {
  for (const char* axes : {"[data, fsdp]", "[fsdp, data]"}) {
    for (const char* layouts : {"layout_map: {'.*kernel': [null, fsdp]}\n",
                                "layout_map: {}\noptimizer_layout: {'.*kernel': [fsdp]}\n"}) {
      CAPTURE(axes);
      CAPTURE(layouts);
      const std::string text =
          text_of(1, fmt::format("strategy: model_parallel\nbatch_axis: {}\n{}", axes, layouts));
      const std::vector<Sent> sent = sent_by(training_plan(text, "data=2,fsdp=4", 0));
      // No activation of 1024 samples is, however the axes of the batch are ordered.
      for (const Sent& one : tensors(sent)) CHECK(one.elements <= kWidth * kWidth);
      const std::vector<std::string> ops = ops_of(sent);
      CHECK(std::ranges::count(ops, "reduce_scatter") == 1);
      CHECK(std::ranges::count(ops, "all_to_all") == 0);
    }
  }
}

TEST_CASE("weights rounded to 16 bits are gathered in each pass, unless they are to be kept") {
  const auto gathers = [](const std::string& more) {
    const std::vector<Sent> sent = sent_by(training_plan(text_of(3, kFsdp + more), "data=4", 0));
    return std::ranges::count(ops_of(sent), "all_gather");
  };
  // Of the first layer the backward pass needs no weight.
  CHECK(gathers("precision: mixed_bfloat16\n") == 3 + 2);
  CHECK(gathers("precision: float32\n") == 3 + 2);
  CHECK(gathers("precision: mixed_bfloat16\nkeep_gathered: true\n") == 3);
}

TEST_CASE("what the backward pass makes of a gradient is computed whole where the gradient is") {
  const std::string text = R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [1024, 6]}, y: {normal: [1024, 4]}}}}
model:
  input: [6]
  layers: [Dense: {units: 16}, BatchNormalization: {}, Dense: {units: 4}]
compile: {optimizer: {SGD: {momentum: 0.9}}, loss: mse}
fit: {batch_size: 1024}
strategy: model_parallel
layout_map: {}
optimizer_layout: )";
  const auto gathered = [&](const std::string& layouts) {
    std::int64_t before_updates = 0;
    for (const Sent& one : sent_by(training_plan(text + layouts, "data=4", 0))) {
      before_updates += one.op == "all_gather" && one.phase != Phase::kUpdate ? 1 : 0;
    }
    return before_updates;
  };
  CHECK(gathered("{'.*(gamma|beta)': [data]}") == 0);
  CHECK(gathered("{'.*': [data]}") == 0);
}

TEST_CASE("what repeats a smaller value is moved before it is repeated") {
  const std::string text = R"(
mesh: {data: 1}
strategy: model_parallel
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [64, 16], below: 9}, y: {normal: [64, 4]}}}}
model:
  input: {shape: [16], dtype: int32}
  layers:
    - TokenAndPositionEmbedding: {name: e, vocabulary_size: 9, sequence_length: 16, embedding_dim: 8}
    - GlobalAveragePooling1D
    - Dense: {name: d, units: 4}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 64}
)";
  for (const char* layouts : {"layout_map: {'.*embeddings': [data]}", "layout_map: {}"}) {
    CAPTURE(layouts);
    for (const Sent& one : sent_by(training_plan(text + layouts, "data=4", 0))) {
      CHECK(one.op != "all_to_all");
      CHECK(one.elements <= 64 * 16);  // tokens; not the 64 * 16 * 8 numbers for them
    }
  }
}

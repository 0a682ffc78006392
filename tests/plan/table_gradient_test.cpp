// The gradient of an Embedding: by rows in the pass that updates the table, with the bits of the
// whole one; and what it sends.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compile.h"
#include "graph/op_def.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kSteps = 16, kWidth = 64;

struct Table {
  std::int64_t rows = 2000;
  std::int64_t batch = 8;
  std::string optimizer = "adam";
  std::string layouts = {};
  std::string precision = "float32";
};

std::string model(const Table& table) {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{integers: [{0}, 16], below: {1}}}, y: {{normal: [{0}, 16, 4]}}}}}}}}
model:
  input: {{shape: [16], dtype: int32}}
  layers: [Embedding: {{name: tok, input_dim: {1}, output_dim: 64}}, Dense: {{units: 4}}]
compile: {{optimizer: {2}, loss: mse}}
fit: {{batch_size: {0}}}
strategy: model_parallel
layout_map: {{{3}}}
precision: {4}
)",
                     table.batch, table.rows, table.optimizer, table.layouts, table.precision);
}

/// The table gives logits, too.
std::string tied(std::int64_t rows, const std::string& optimizer, const std::string& layouts = "") {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{integers: [8, 16], below: {0}}}, y: {{integers: [8, 16], below: {0}}}}}}}}}
model:
  input: {{shape: [16], dtype: int32}}
  layers:
    - ReversibleEmbedding: {{name: tok, input_dim: {0}, output_dim: 64}}
    - Dense: {{units: 64}}
    - use: {{layer: tok, name: logits, reverse: true}}
compile: {{optimizer: {1}, loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}}}
fit: {{batch_size: 8}}
strategy: model_parallel
layout_map: {{{2}}}
)",
                     rows, optimizer, layouts);
}

const std::string kWhole = "fusion: {elementwise: false}\n";
const std::vector<std::string> kOptimizers{"sgd",
                                           "{SGD: {momentum: 0.9, nesterov: true}}",
                                           "adam",
                                           "adamw",
                                           "{RMSprop: {momentum: 0.9}}",
                                           "{SGD: {gradient_accumulation_steps: 2}}"};

/// Values of the step as large as the table, or as a part of it on one of so many devices.
std::int64_t large_values(const Plan& plan, std::int64_t rows, std::int64_t devices = 1) {
  const std::int64_t bytes = rows * kWidth * 4 / devices;
  std::set<std::int64_t> places;
  for (const ValueId id : plan.program.ids()) {
    const std::int64_t place = plan.offsets[id];
    if (place >= plan.step_begin && num_bytes(plan.program.type(id)) >= bytes) places.insert(place);
  }
  return static_cast<std::int64_t>(places.size());
}

std::string fusion_of(const Plan& plan, std::string_view op) {
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.nodes.empty()) continue;
    std::string text;
    bool has = false;
    for (const ValueId id : instruction.nodes) {
      const std::string_view name = plan.program.node(id).op->name;
      if (plan.program.node(id).op->is_constant) continue;
      has = has || name == op;
      text += (text.empty() ? "" : " ") + std::string(name);
    }
    if (has) return text;
  }
  return "";
}

/// The gradient in one pass with its reader gives the bits of the whole one.
void check_bits(const std::string& text, const std::string& mesh) {
  const Trajectory by_rows = train(text, {.mesh = mesh});
  const Trajectory whole = train(text + kWhole, {.mesh = mesh});
  CHECK(by_rows.digest == whole.digest);
  CHECK(by_rows.losses == whole.losses);
}

}  // namespace

TEST_CASE("the gradient of a table is computed by rows where the table is updated") {
  for (const std::string& optimizer : kOptimizers) {
    CAPTURE(optimizer);
    const Plan plan = training_plan(model({.optimizer = optimizer}), "1x1", 0);
    CHECK(fusion_of(plan, "embedding_gradient").starts_with("embedding_gradient "));
    CHECK(large_values(plan, 2000) == 0);
    check_bits(model({.optimizer = optimizer}), "1x1");
  }
  const Plan small = training_plan(model({.rows = 500}), "1x1", 0);
  CHECK(fusion_of(small, "embedding_gradient") == "embedding_gradient");
}

TEST_CASE("so it is whichever way table and batch are sharded") {
  for (const char* layout : {"[model]", "[null, model]", "[data]", "[data, model]"}) {
    for (const char* precision : {"float32", "mixed_bfloat16"}) {
      CAPTURE(layout);
      CAPTURE(precision);
      const std::string text = model({.batch = 6,
                                      .layouts = fmt::format("tok/embeddings: {}", layout),
                                      .precision = precision});
      for (const char* mesh : {"1x3", "2x2"}) {
        CAPTURE(mesh);
        check_bits(text, mesh);
      }
      const Plan plan = training_plan(text, "2x2", 0);
      CHECK(fusion_of(plan, "embedding_gradient").starts_with("embedding_gradient "));
    }
  }
}

TEST_CASE("a table of 50,000 rows takes its place and that of the optimizer's state, no more") {
  for (const std::string& optimizer : kOptimizers) {
    CAPTURE(optimizer);
    const Plan plan = training_plan(model({.rows = 50000, .optimizer = optimizer}), "1x1", 0);
    CHECK(large_values(plan, 50000) == 0);
    CHECK(memory_use(plan).step < 50000 * kWidth * 4 / 8);
  }
  // All gradients are there before one is clipped.
  const Plan clipped = training_plan(
      model({.rows = 50000, .optimizer = "{Adam: {global_clipnorm: 1.0}}"}), "1x1", 0);
  CHECK(large_values(clipped, 50000) > 0);
}

TEST_CASE("the gradient of a table that gives logits, too, is added to the one that is there") {
  for (const char* optimizer : {"adam", "{Adam: {global_clipnorm: 1.0}}"}) {
    CAPTURE(optimizer);
    const std::string text = tied(3000, optimizer);
    CHECK(fusion_of(training_plan(text, "1x1", 0), "embedding_gradient") ==
          "embedding_gradient add");
    check_bits(text, "1x1");
    check_bits(tied(3000, optimizer, "tok/embeddings: [model]"), "1x2");
  }
  // The one gradient, beside logits [128, 50000].
  const Plan plan = training_plan(tied(50000, "adam"), "1x1", 0);
  CHECK(memory_use(plan).step < 1.1 * (50000 * kWidth * 4 + 128 * 50000 * 4));
}

TEST_CASE("devices gather the rows of a large table's gradient, and reduce that of a small one") {
  for (const int devices : {2, 4, 8}) {
    CAPTURE(devices);
    const std::string mesh = fmt::format("data={},model=1", devices);
    const auto of_table = [&](const Table& table) {
      std::vector<Sent> sent = sent_by(training_plan(model(table), mesh, 0));
      std::erase_if(sent, [](const Sent& s) { return s.path != "tok"; });
      return sent;
    };
    // 128 rows of 50,000: their numbers and gradients.
    const std::vector<Sent> large = of_table({.rows = 50000, .batch = 8});
    CHECK(large.size() == 2);
    for (const Sent& s : large) CHECK(s.op == "all_gather");
    CHECK(elements(large) == 8 * kSteps * (kWidth + 1) / devices);
    // 4,096 rows of 500.
    const std::vector<Sent> small = of_table({.rows = 500, .batch = 256});
    CHECK(small.size() == 1);
    CHECK(small[0].op == "all_reduce");
    CHECK(elements(small) == 500 * kWidth);
  }
}

TEST_CASE("a table that gives logits, too, has its gradients reduced as one") {
  const std::string text = tied(3000, "adam");
  std::vector<Sent> sent = sent_by(training_plan(text, "data=4,model=1", 0));
  std::erase_if(sent, [](const Sent& s) { return s.elements < 128 * kWidth / 4; });
  CHECK(std::count_if(sent.begin(), sent.end(),
                      [](const Sent& s) { return s.elements == 3000 * kWidth; }) == 1);
  CHECK(std::none_of(sent.begin(), sent.end(), [](const Sent& s) { return s.op == "all_gather"; }));
}

// The gradient of an Embedding, and what it sends.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

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

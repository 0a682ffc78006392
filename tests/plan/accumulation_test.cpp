// What steps send of which several make one update (PyTorch's no_sync()).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "support/sent.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kRows = 96, kWidth = 64, kKernel = kWidth * kWidth;

/// A table, two layers with biases, and what the target makes of them.
std::string text_of(const std::string& more,
                    const std::string& optimizer = "{Adam: {gradient_accumulation_steps: 4}}") {
  return fmt::format(R"(
mesh: {{data: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{integers: [64], below: {0}}}, y: {{normal: [64, {1}]}}}}}}}}
model:
  input: []
  layers:
    - Embedding: {{name: table, input_dim: {0}, output_dim: {1}}}
    - Dense: {{name: first, units: {1}, activation: relu}}
    - Dense: {{name: second, units: {1}}}
compile: {{optimizer: {2}, loss: mse}}
fit: {{batch_size: 64}}
)",
                     kRows, kWidth, optimizer) +
         more;
}

/// "all_reduce of 64 over 4", of each tensor in turn.
std::vector<std::string> calls(const std::string& text, const std::string& mesh, ProgramKind kind) {
  std::vector<std::string> calls;
  for (const Sent& sent : tensors(sent_by(training_plan(text, mesh, 0, kind)))) {
    calls.push_back(fmt::format("{} of {} over {}", sent.op, sent.elements, sent.members.size()));
  }
  return calls;
}

std::int64_t sent_elements(const std::string& text, const std::string& mesh, ProgramKind kind) {
  return elements(tensors(sent_by(training_plan(text, mesh, 0, kind))));
}

constexpr auto kAccumulates = ProgramKind::kAccumulate;
constexpr auto kUpdates = ProgramKind::kTrain;

}  // namespace

TEST_CASE("steps that only accumulate send no gradients, and the update all of them once") {
  const std::string text = text_of("");
  CHECK(calls(text, "data=4", kAccumulates).empty());
  CHECK(sent_elements(text, "data=4", kUpdates) == parameters(training_plan(text, "data=4", 0)));
  const std::string scaled =
      text_of("", "{Adam: {gradient_accumulation_steps: 4, loss_scale_factor: 3}}");
  CHECK(calls(scaled, "data=4", kAccumulates).empty());
}

TEST_CASE("sums that the optimizer keeps in parts are scattered in each step") {
  const std::string text =
      text_of("strategy: model_parallel\nlayout_map: {}\noptimizer_layout: {'.*kernel': [data]}\n");
  const std::string scatter = fmt::format("reduce_scatter of {} over 4", kKernel);
  CHECK(calls(text, "data=4", kAccumulates) == std::vector<std::string>{scatter, scatter});
}

TEST_CASE(
    "where a weight lies over one of two axes of the batch, sums stay apart along the other") {
  const std::string text = text_of(
      "batch_axis: [data, fsdp]\nstrategy: model_parallel\n"
      "layout_map: {'.*kernel': [fsdp, null], '.*embeddings': [fsdp, null]}\n");
  for (const std::string& call : calls(text, "data=2,fsdp=2", kAccumulates)) {
    CHECK(call.ends_with("over 2"));
    CHECK_FALSE(call.starts_with("all_reduce"));
  }
  int reduced = 0;
  for (const std::string& call : calls(text, "data=2,fsdp=2", kUpdates)) {
    if (call.starts_with(fmt::format("all_reduce of {} over 2", kKernel / 2))) ++reduced;
  }
  CHECK(reduced == 2);
}

TEST_CASE("where each step asks whether gradients are finite, each reduces them") {
  const std::string text = text_of("",
                                   "{LossScaleOptimizer: {inner_optimizer: {Adam: "
                                   "{gradient_accumulation_steps: 4}}}}");
  CHECK(sent_elements(text, "data=4", kUpdates) == parameters(training_plan(text, "data=4", 0)));
}

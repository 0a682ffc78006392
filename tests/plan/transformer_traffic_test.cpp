// What a block of a transformer sends in the layouts that are known for it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/op_def.h"
#include "support/sent.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kBatch = 2, kSteps = 8, kWidth = 64;

const std::string kBlock = R"(
mesh: {data: 1, model: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [4, 8, 64]}, y: {normal: [4, 8, 64]}}}}
model:
  input: [8, 64]
  layers:
    - Dense: {name: first, units: 64}
    - LayerNormalization: {name: norm1}
    - MultiHeadAttention: {name: mixed, num_heads: 4, key_dim: 16, use_causal_mask: true, dropout: 0.1, inputs: [norm1, norm1]}
    - Add: {name: sum1, inputs: [first, mixed]}
    - LayerNormalization: {name: norm2}
    - Dense: {name: up, units: 256, activation: gelu}
    - Dense: {name: down, units: 64}
    - Add: {name: sum2, inputs: [sum1, down]}
    - Dense: {name: last, units: 64}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 2}
strategy: model_parallel
layout_map:
)";

/// Heads and hidden units over the axis `model` (Shoeybi et al., 2019).
const std::string kMegatron = R"(
  mixed/(query|key|value)/kernel: [null, model, null]
  mixed/(query|key|value)/bias: [model, null]
  mixed/attention_output/kernel: [model, null, null]
  up/kernel: [null, model]
  up/bias: [model]
  down/kernel: [model, null]
)";

/// Beside it: what lies between is cut along the sequence (Korthikanti et al., 2022).
const std::string kSequence = R"(
  (first|norm1|mixed|sum1|norm2|down|sum2)/output: [data, model, null]
)";

/// What is sent along the axis `model` in one phase.
std::vector<Sent> sent_in(const std::string& layouts, int devices, Phase phase) {
  const Plan plan = training_plan(kBlock + layouts, fmt::format("data=1,model={}", devices), 0);
  std::vector<Sent> result;
  for (const Sent& s : tensors(sent_by(plan))) {
    if (s.phase == phase) result.push_back(s);
  }
  return result;
}

std::int64_t count(const std::vector<Sent>& sent, const std::string& op) {
  return std::count_if(sent.begin(), sent.end(), [&](const Sent& s) { return s.op == op; });
}

std::string text_of(const std::vector<Sent>& sent) {
  std::string text;
  for (const Sent& s : sent) text += fmt::format("{} {} {}\n", s.path, s.op, s.elements);
  return text;
}

}  // namespace

TEST_CASE("heads and hidden units over an axis cost two all-reduces forward and two backward") {
  for (const int devices : {2, 4}) {
    for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
      const auto sent = sent_in(kMegatron, devices, phase);
      INFO(text_of(sent));
      CHECK(sent.size() == 2);
      CHECK(count(sent, "all_reduce") == 2);
      for (const Sent& s : sent) CHECK(s.elements == kBatch * kSteps * kWidth);
    }
  }
}

TEST_CASE("keys and values of a sequence that is cut travel once, and their gradients back") {
  const std::string cut =
      "  '(first|norm1|mixed|sum1|norm2|up|down|sum2)/output': [data, model, null]\n";
  for (const int devices : {2, 4}) {
    const auto forward = sent_in(cut, devices, Phase::kForward);
    INFO(text_of(forward));
    // Each device gives its keys and values to the others: n - 1 times round.
    std::int64_t gathered = 0;
    for (const Sent& s : forward) {
      if (s.path.starts_with("mixed") && s.op == "all_gather") gathered += s.elements;
    }
    CHECK(gathered == 2 * kBatch * kSteps * kWidth / devices);
    const auto backward = sent_in(cut, devices, Phase::kBackward);
    INFO(text_of(backward));
    CHECK(count(backward, "reduce_scatter") == 2);
  }
}

TEST_CASE("sequence parallelism turns each all-reduce into a reduce-scatter and an all-gather") {
  const std::int64_t devices = 4, part = kBatch * kSteps * kWidth / devices;
  for (const Phase phase : {Phase::kForward, Phase::kBackward}) {
    const auto sent = sent_in(kMegatron + kSequence, static_cast<int>(devices), phase);
    INFO(text_of(sent));
    CHECK(count(sent, "reduce_scatter") == 2);
    CHECK(count(sent, "all_gather") == 2);
    for (const Sent& s : sent) {
      if (s.op == "all_gather") CHECK(s.elements == part);
      if (s.op == "reduce_scatter") CHECK(s.elements == devices * part);
    }
  }
}

TEST_CASE("a vocabulary over an axis is never gathered, not for the lookup and not for the loss") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [8, 6], below: 1000}, y: {integers: [8, 6], below: 1000}}}}
model:
  input: {shape: [6], dtype: int32}
  layers:
    - Embedding: {name: tok, input_dim: 1000, output_dim: 16}
    - Dense: {name: logits, units: 1000}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8}
strategy: model_parallel
layout_map: {tok/embeddings: [model, null], logits/kernel: [null, model], logits/bias: [model]}
)";
  constexpr std::int64_t kTokens = 8 * 6, kFeatures = 16;
  for (const int devices : {2, 4}) {
    const auto sent =
        tensors(sent_by(training_plan(text, fmt::format("data=1,model={}", devices), 0)));
    INFO(text_of(sent));
    // The rows that are looked up and their gradient; of the loss a few numbers for each token.
    std::int64_t wide = 0, of_loss = 0;
    for (const Sent& s : sent) {
      CHECK(s.elements <= kTokens * kFeatures);
      if (s.elements == kTokens * kFeatures) ++wide;
      if (s.elements <= kTokens) of_loss += s.elements;
    }
    CHECK(wide == 2);
    CHECK(of_loss <= 4 * kTokens);
    CHECK(of_loss > 0);
  }
}

TEST_CASE("heads of keys that are fewer than devices lie beside those of their queries") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [4, 8, 64]}, y: {normal: [4, 8, 64]}}}}
model:
  input: [8, 64]
  layers:
    - Dense: {name: first, units: 64}
    - GroupQueryAttention: {name: mixed, num_query_heads: 8, num_key_value_heads: 2, head_dim: 16, use_bias: false, use_causal_mask: true, inputs: [first, first]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 2}
strategy: model_parallel
layout_map:
  mixed/(query|key|value)/kernel: [null, model]
  mixed/attention_output/kernel: [model]
)";
  for (const int device : {0, 5}) {
    const Plan plan = training_plan(text, "data=1,model=8", device);
    // Heads are never exchanged: the result is summed over all devices, and in the backward pass
    // what is summed over queries over those that share a head.
    for (const Sent& s : tensors(sent_by(plan))) {
      CHECK(s.op == "all_reduce");
      if (s.phase == Phase::kForward) CHECK((s.members.size() == 8 && s.elements == 1024));
    }
    // The gradients by query, key and value go out as one sum, as with heads enough.
    const auto is_of_input = [](const Sent& s) {
      return s.phase == Phase::kBackward && s.elements == 1024;
    };
    const auto sent = sent_by(plan);
    const auto sums = std::ranges::count_if(sent, is_of_input);
    CHECK(sums == 1);
    const auto sum = std::ranges::find_if(sent, is_of_input);
    if (sums > 0) CHECK(sum->members.size() == 8);
    for (const Instruction& instruction : plan.instructions) {
      for (const ValueId id : instruction.nodes) {
        const Node& node = plan.program.node(id);
        if (node.op->name != std::string("attention")) continue;
        CHECK(node.type.shape == Shape{2, 8, 1, 1, 16});
      }
    }
  }
}

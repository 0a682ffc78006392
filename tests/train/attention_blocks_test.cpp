// Attention to keys and values that come block by block: the numbers of one device.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/remote_device.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// However small.
void every_block(Target& target) { target.bucket = 0; }
/// None.
constexpr const char* kOff = "fusion: {attention_blocks: false}\n";

/// A layer `mixed` between projections over `steps` places, cut along the sequence.
std::string text_of(std::int64_t steps, const std::string& mixed, bool masks = false) {
  const bool is_segmented = mixed.find("segments") != std::string::npos;
  const std::string input = fmt::format("{{shape: [{}], dtype: int32}}", steps);
  const std::string segments = fmt::format("segments: {{integers: [12, {}], below: 3}}, ", steps);
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
strategy: model_parallel
layout_map:
  '(tok|query|mixed|sum|out)/output': [data, model]
dataset:
  name: t
  format: synthetic
  splits: {{train: {{x: {{integers: [12, {0}], below: 11}}, {1}y: {{integers: [12, {0}], below: 5}}}}}}
model:
  inputs: {{x: {2}{3}}}
  layers:
    - Embedding: {{name: tok, input_dim: 11, output_dim: 8, mask_zero: {4}, inputs: x}}
    - Dense: {{name: query, units: 8}}
    - {5}
    - Add: {{name: sum, inputs: [tok, mixed]}}
    - Dense: {{name: out, units: 5}}
compile: {{optimizer: adam, loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}}}
fit: {{batch_size: 4}}
)",
                     steps, is_segmented ? segments : "", input,
                     is_segmented ? ", segments: " + input : "", masks, mixed);
}

std::string heads(const std::string& arguments) {
  return "MultiHeadAttention: {name: mixed, num_heads: 2, key_dim: 4, " + arguments +
         "inputs: {query: query, value: tok}}";
}
std::string grouped(const std::string& arguments, const std::string& inputs = "") {
  return "GroupQueryAttention: {name: mixed, num_query_heads: 4, num_key_value_heads: 2, "
         "head_dim: 4, " +
         arguments + "inputs: {query: query, value: tok" + inputs + "}}";
}

void check(const std::string& text, const std::string& mesh, double tolerance = 1e-5) {
  CAPTURE(text);
  CAPTURE(mesh);
  const Trajectory one = train(text, {.steps = 3});
  const Trajectory blocks = train(text, {.mesh = mesh, .steps = 3, .adapt = every_block});
  const Trajectory whole = train(text + kOff, {.mesh = mesh, .steps = 3, .adapt = every_block});
  CHECK(loss_difference(one, blocks) < tolerance);
  CHECK(weight_difference(one, blocks) < 10 * tolerance);
  CHECK(blocks.digest != whole.digest);  // sums are taken in another order
}

}  // namespace

TEST_CASE("keys and values that come block by block give what all at once give") {
  for (const char* mesh : {"1x2", "1x3", "1x4", "2x4", "1x8"}) {
    check(text_of(10, heads("")), mesh);
    check(text_of(10, heads("use_causal_mask: true, dropout: 0.3, ")), mesh);
    check(text_of(16, grouped("use_causal_mask: true, sliding_window: 3, ")), mesh);
    check(text_of(11, grouped("use_causal_mask: true, ", ", segments: segments")), mesh);
    check(text_of(10, heads("use_causal_mask: true, "), true), mesh);
  }
}

TEST_CASE("devices that have no steps take part in the blocks of the others") {
  check(text_of(3, heads("use_causal_mask: true, ")), "1x4");
  check(text_of(5, grouped("", ", segments: segments")), "1x8");
}

TEST_CASE("a sequence that is cut over two axes comes block by block of both") {
  std::string text = "batch_axis: []\n" + text_of(13, heads("use_causal_mask: true, "));
  text.replace(text.find("[data, model]"), 13, "[null, [data, model]]");
  for (const char* mesh : {"2x2", "2x4"}) check(text, mesh);
}

TEST_CASE("blocks of bfloat16 are merged in float32 and rounded once") {
  std::string text =
      "precision: mixed_bfloat16\n" + text_of(16, grouped("use_causal_mask: true, "));
  // Adam would make whole steps of gradients that are little but for rounding.
  text.replace(text.find("adam"), 4, "{SGD: {learning_rate: 0.1}}");
  for (const char* mesh : {"1x2", "1x4"}) check(text, mesh, 2e-3);
}

TEST_CASE("blocks give the same bits on devices that the host does not reach") {
  const std::string text = text_of(13, grouped("use_causal_mask: true, dropout: 0.2, "));
  for (const char* mesh : {"1x4", "2x3"}) {
    CAPTURE(mesh);
    const Trajectory cpu = train(text, {.mesh = mesh, .steps = 3, .adapt = every_block});
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Trajectory remote = train(
          text,
          {.mesh = mesh, .steps = 3, .make_device = remote_devices(seed), .adapt = every_block});
      CHECK(remote.losses == cpu.losses);
      CHECK(remote.digest == cpu.digest);
    }
  }
}

TEST_CASE("what is computed again in the backward pass attends block by block, too") {
  const std::string text = text_of(10, heads("use_causal_mask: true, "));
  const Trajectory once = train(text, {.mesh = "1x4", .steps = 3, .adapt = every_block});
  const Trajectory again =
      train(text + "rematerialize: full\n", {.mesh = "1x4", .steps = 3, .adapt = every_block});
  CHECK(again.digest == once.digest);
}

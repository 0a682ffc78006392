// What a block of a transformer takes when its context grows.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "compile.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string block(std::int64_t steps, const std::string& precision, std::int64_t head = 8) {
  return fmt::format(R"(
precision: {1}
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: synthetic, splits: {{train: {{x: {{normal: [1, {0}, 16]}}, y: {{normal: [1, {0}, 16]}}}}}}}}
model:
  input: [{0}, 16]
  layers:
    - Dense: {{name: first, units: 16}}
    - LayerNormalization: {{name: norm1}}
    - MultiHeadAttention: {{name: mixed, num_heads: 2, key_dim: {2}, use_causal_mask: true, inputs: [norm1, norm1]}}
    - Add: {{name: sum1, inputs: [first, mixed]}}
    - LayerNormalization: {{name: norm2}}
    - Dense: {{name: up, units: 64, activation: gelu}}
    - Dense: {{name: down, units: 16}}
    - Add: {{name: sum2, inputs: [sum1, down]}}
compile: {{optimizer: adam, loss: mse}}
fit: {{batch_size: 1}}
)",
                     steps, precision, head);
}

const std::string kCut = R"(
strategy: model_parallel
layout_map:
  '(first|norm1|mixed|sum1|norm2|up|down|sum2)/output': [data, model, null]
)";

/// Of a training step, with the scratch memory of its kernels.
double step_bytes(const std::string& text, int devices) {
  const Job job = job_of(text, fmt::format("data=1,model={}", devices));
  const GlobalProgram program =
      compile(job.config, job.signature, job.mesh, job.target, ProgramKind::kTrain, 1);
  const Plan plan = compile_for_device(program, job.mesh, 0, memory_query(job));
  return static_cast<double>(memory_use(plan).step);
}

}  // namespace

TEST_CASE("attention takes memory that grows with the context, not with its square") {
  for (const char* precision : {"float32", "mixed_bfloat16"}) {
    for (const int devices : {1, 4}) {
      CAPTURE(precision);
      CAPTURE(devices);
      const std::string layouts = devices > 1 ? kCut : "";
      const auto bytes = [&](std::int64_t steps) {
        return step_bytes(block(steps, precision) + layouts, devices);
      };
      const double short_one = bytes(2048), middle = bytes(4096), long_one = bytes(8192);
      CHECK(middle / short_one < 2.05);
      CHECK(long_one / middle < 2.05);
      // What each step more takes, beside what threads have for themselves: twice as much of twice
      // as many, where the square would be four times. Some kernels of one thread take less.
      CHECK((long_one - middle) / (middle - short_one) < 2.3);
      // Not even one byte for each pair of steps.
      CHECK(long_one < 8192.0 * 8192.0);
    }
  }
}

TEST_CASE("no device holds the keys and values of a long sequence that is cut") {
  constexpr std::int64_t kSteps = 8192;
  for (const std::int64_t bytes : {4, 2}) {
    const char* precision = bytes == 4 ? "float32" : "mixed_bfloat16";
    const std::int64_t head = 512 / bytes;
    const auto keys = static_cast<double>(kSteps * 2 * head * bytes);
    const std::string text = block(kSteps, precision, head) + kCut;
    const double whole = step_bytes(text + "fusion: {attention_blocks: false}\n", 8);
    const double blocks = step_bytes(text, 8);
    MESSAGE(std::string(precision), ": ", whole, " bytes of a step, by blocks ", blocks);
    // Whole keys and values, and their gradients, are no longer there.
    CHECK(whole - blocks > 2 * keys);
    CHECK(blocks < 0.6 * whole);
  }
}

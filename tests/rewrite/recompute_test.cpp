#include <doctest/doctest.h>

#include "rewrite/program.h"
#include "support/sent.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string model(const std::string& activation) {
  return R"(
mesh: {data: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [24, 16, 32]}, y: {normal: [24, 16, 32]}}}}
model:
  input: [16, 32]
  layers:
    - Dense: {units: 32}
    - LayerNormalization:
    - Dense: {units: 128, activation: )" +
         activation + R"(}
    - Dropout: {rate: 0.2}
    - Dense: {units: 32}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 8}
)";
}

const std::string kOff = "fusion: {recompute: false}\n";
constexpr std::int64_t kHidden = 8 * 16 * 128 * 4;  // bytes of the values of the wide layer

}  // namespace

TEST_CASE("what is computed again of a kept value has the same bits, and no place in memory") {
  for (const char* activation : {"gelu", "{gelu: {approximate: true}}", "silu", "mish", "elu"}) {
    CAPTURE(activation);
    const std::string text = model(activation);
    for (const char* mesh : {"1", "3"}) {
      const Trajectory again = train(text, {.mesh = mesh});
      const Trajectory kept = train(text + kOff, {.mesh = mesh});
      CHECK(again.digest == kept.digest);
      CHECK(again.losses == kept.losses);
    }
    const auto step = [](const std::string& config) {
      return memory_use(training_plan(config, "1", 0)).step;
    };
    CHECK(step(text) <= step(text + kOff));
  }
  // The operand, the result and the mask of the dropout are kept; of the approximate one four more.
  const auto hidden = [](const std::string& config) {
    return memory_use(training_plan(config, "1", 0)).step / kHidden;
  };
  const std::string text = model("{gelu: {approximate: true}}");
  CHECK(hidden(text + kOff) - hidden(text) >= 3);
  CHECK(count(rewritten(text), "tanh") == 2);
  CHECK(count(rewritten(text + kOff), "tanh") == 1);
}

TEST_CASE("a value that a gradient of it alone reads, of what is not kept, is kept") {
  // Of relu only the result is read, of the sum before it nothing.
  CHECK(count(rewritten(model("relu")), "relu") == 1);
}

TEST_CASE(
    "weights stay rounded where products of 16 bits are fast, values where one takes no longer") {
  // The gradient of what is multiplied: 256 operations for each element of the weight, 64 are much.
  const std::string text = model("relu") + "precision: mixed_bfloat16\n";
  const auto casts = [&](double narrow_speed, const std::string& mesh) {
    Job job = job_of(text, mesh);
    job.target.light_flops = 0.5;
    job.target.narrow_speed = narrow_speed;
    return count(rewritten(job), "cast");
  };
  for (const char* mesh : {"1", "2"}) {
    CAPTURE(mesh);
    CHECK(casts(1, mesh) > casts(1.1, mesh));
    CHECK(casts(1.1, mesh) == casts(4, mesh));
    CHECK(casts(4, mesh) > casts(4.1, mesh));
  }
}

TEST_CASE("where all is kept by hand nothing is computed again twice") {
  const std::string text = model("gelu") + "rematerialize: full\n";
  CHECK(train(text, {}).digest == train(text + kOff, {}).digest);
}

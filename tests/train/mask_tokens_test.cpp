// Tokens that a masked language model is to find again: what is drawn, and on which mesh.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "backend/backend.h"
#include "job/job.h"
#include "model/mask_tokens.h"
#include "ops/ops.h"
#include "support/errors.h"
#include "support/interpreter.h"
#include "support/temp_directory.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::test;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kBatch = 40, kSteps = 50;
constexpr std::int64_t kTokens = kBatch * kSteps;

/// What `mask` makes of the tokens 0, 1, .. 9, 0, 1, .. in a step.
std::vector<std::int32_t> masked(TokenMask mask, bool is_label, std::int64_t step = 3) {
  mask.is_label = is_label;
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = ops::input(b, "x", {DType::kInt32, {kBatch, kSteps}});
  const ValueId y = mask_tokens(b, mask, x);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  HostTensor tokens = host_tensor({DType::kInt32, {kBatch, kSteps}});
  std::int32_t next = 0;
  for (std::int32_t& token : tokens.as<std::int32_t>()) token = next++ % 10;
  run.feed("x", tokens);
  HostTensor iteration = host_tensor({DType::kInt64, {}});
  iteration.as<std::int64_t>()[0] = step;
  run.feed("iteration", iteration);
  run.run();
  const HostTensor result = run.read(y);
  const auto values = result.as<std::int32_t>();
  return {values.begin(), values.end()};
}

TokenMask some(double selection, double mask = 0.8, double random = 0.1) {
  TokenMask result;
  result.vocabulary_size = 10;
  result.mask_token_id = 10;
  result.mask_selection_rate = selection;
  result.mask_token_rate = mask;
  result.random_token_rate = random;
  result.seed = 5;
  return result;
}

}  // namespace

TEST_CASE("labels are the chosen tokens; most of these are masked, some are others") {
  const auto x = masked(some(0.15), false);
  const auto y = masked(some(0.15), true);
  double chosen = 0, hidden = 0, others = 0;
  for (std::int64_t i = 0; i < kTokens; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto token = static_cast<std::int32_t>(i % 10);
    if (y[at] == TokenMask::kNotChosen) {
      CHECK(x[at] == token);
      continue;
    }
    CHECK(y[at] == token);
    CHECK((x[at] >= 0 && x[at] <= 10));
    ++chosen;
    hidden += x[at] == 10 ? 1 : 0;
    others += x[at] != 10 && x[at] != token ? 1 : 0;
  }
  CHECK(std::abs(chosen / kTokens - 0.15) < 0.03);
  CHECK(std::abs(hidden / chosen - 0.8) < 0.08);
  CHECK(std::abs(others / chosen - 0.09) < 0.05);
}

TEST_CASE("rates of 0 and 1 are exact, and tokens may be kept from being chosen") {
  const std::vector<std::int32_t> all_masked(kTokens, 10), none(kTokens, -1);
  CHECK(masked(some(1, 1, 0), false) == all_masked);
  CHECK(masked(some(0), true) == none);
  CHECK(masked(some(1, 0, 0), false) == masked(some(0), false));
  TokenMask kept = some(1, 1, 0);
  kept.unselectable_token_ids = {0, 7};
  const auto y = masked(kept, true);
  for (std::int64_t i = 0; i < kTokens; ++i) {
    const bool is_kept = i % 10 == 0 || i % 10 == 7;
    CHECK(y[static_cast<std::size_t>(i)] == (is_kept ? -1 : i % 10));
  }
}

TEST_CASE("every step and every seed draws other tokens, and the same ones again") {
  TokenMask other = some(0.15);
  other.seed = 6;
  CHECK(masked(some(0.15), true) == masked(some(0.15), true));
  CHECK(masked(some(0.15), true, 4) != masked(some(0.15), true));
  CHECK(masked(other, true) != masked(some(0.15), true));
}

namespace {

std::string text_of(const TempDirectory& directory, const std::string& mask) {
  write_text(directory.file("t.txt"),
             std::string(40, 'a') + "bcdefghij" + std::string(30, 'k') + "lmnopq");
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
dataset: {{name: t, format: text, context: 7, splits: {{train: {}}}, mask_tokens: {}}}
model:
  input: {{shape: [7], dtype: int32}}
  layers:
    - Embedding: {{name: tokens, input_dim: 18, output_dim: 6}}
    - MultiHeadAttention: {{num_heads: 2, key_dim: 3, inputs: [tokens, tokens]}}
    - Dense: {{name: logits, units: 17}}
compile: {{optimizer: adam, loss: {{SparseCategoricalCrossentropy: {{from_logits: true, ignore_class: -1}}}}}}
fit: {{batch_size: 5}}
)",
                     directory.file("t.txt"), mask);
}

const std::string kMask =
    "{vocabulary_size: 17, mask_token_id: 17, mask_selection_rate: 0.5, unselectable_token_ids: "
    "[0, "
    "16]}";

}  // namespace

TEST_CASE("what is masked does not depend on the mesh") {
  const TempDirectory directory;
  const std::string text = text_of(directory, kMask);
  const Trajectory one = train(text, {.steps = 4});
  for (const char* mesh : {"2x1", "3x1", "2x2", "1x4"}) {
    CAPTURE(mesh);
    const Trajectory many = train(text, {.mesh = mesh, .steps = 4});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
  }
  const std::string rare = "{vocabulary_size: 17, mask_token_id: 17, mask_selection_rate: 0.1}";
  CHECK(loss_difference(one, train(text_of(directory, rare), {.steps = 4})) > 1e-3);
}

TEST_CASE("predictions are made of tokens as they are") {
  const TempDirectory directory;
  const Job job = job_of(text_of(directory, kMask), "1x1");
  const auto is_masked = [&](ProgramKind kind) {
    return signature_of(job.split, kind).inputs.front().stored->mask.has_value();
  };
  CHECK(is_masked(ProgramKind::kTrain));
  CHECK(is_masked(ProgramKind::kEvaluate));
  CHECK(!is_masked(ProgramKind::kPredict));
}

TEST_CASE("what mask_tokens cannot be is an error that says what fits") {
  const TempDirectory directory;
  const auto error = [&](const std::string& mask) {
    return error_of([&] { train(text_of(directory, mask), {.steps = 0}); });
  };
  CHECK(contains(error("{mask_token_id: 17}"), "vocabulary_size"));
  CHECK(contains(error("{vocabulary_size: 16, mask_token_id: 16}"), "vocabulary_size is 16, but"));
  CHECK(contains(error("{vocabulary_size: 17, mask_token_id: 17, mask_selection_rate: 1.5}"),
                 "mask_selection_rate is 1.5"));
  CHECK(contains(error("{vocabulary_size: 17, mask_token_id: 17, random_token_rate: 0.3}"),
                 "are more than 1"));
  CHECK(contains(error("{vocabulary_size: 17, mask_token_id: 99999999}"), "are 16777216 at most"));
  CHECK(contains(error("{vocabulary_size: 17, mask_token: 17}"), "mask_token_id"));
  CHECK(contains(error("{vocabulary_size: 17, mask_token_id: 18}"),
                 "makes tokens up to 18 (vocabulary_size 17, mask_token_id 18), but the table "
                 "'tokens/embeddings' has 18 rows"));
  CHECK(contains(error("{vocabulary_size: 19, mask_token_id: 3}"), "makes tokens up to 18"));
  const std::string images =
      "dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [4, 3], below: 5}}}, "
      "mask_tokens: {vocabulary_size: 5, mask_token_id: 5}}\n"
      "model: {input: [3], layers: [Dense: {units: 1}]}\n";
  CHECK(contains(error_of([&] { job_of(images, "1").dataset->split("train"); }),
                 "format text or tokens"));
}

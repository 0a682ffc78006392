// Texts in folders, classified on one device and on several.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>

#include "support/temp_directory.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

/// 13 texts of two classes, which their words tell.
void write_reviews(const test::TempDirectory& dir) {
  const std::filesystem::path tokenizer = "tests/fixtures/tokenizers/bert.json";
  std::filesystem::copy(tokenizer, dir.file("bert.json"));
  for (int i = 0; i < 13; ++i) {
    const bool is_good = i % 3 == 0;
    const std::string folder = dir.file(is_good ? "all/pos" : "all/neg");
    std::filesystem::create_directories(folder);
    test::write_text(fmt::format("{}/{}.txt", folder, i),
                     fmt::format("it was {} the {} time", is_good ? "good" : "bad", i));
  }
}

}  // namespace

TEST_CASE("texts in folders train a classifier alike on every mesh") {
  const test::TempDirectory dir;
  write_reviews(dir);
  const std::string text = fmt::format(
                               "dataset: {{format: texts, folder: {}, files: all, splits: {{train: "
                               "0.8, validation: 0.2}}, "
                               "x: {{tokenizer: bert.json, length: 8}}}}\n",
                               dir.path()) +
                           R"(
model:
  input: [8]
  layers:
    - Embedding: {name: words, input_dim: 420, output_dim: 6, mask_zero: true}
    - GlobalAveragePooling1D:
    - Dense: {name: out, units: 2}
compile: {optimizer: {Adam: {learning_rate: 0.05}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 4, epochs: 4}
)";
  const Trajectory one = train(text, {.mesh = "data=1", .steps = 12});
  CHECK(one.losses.back() < one.losses.front());
  for (const char* mesh : {"data=3", "data=2,model=2"}) {
    CAPTURE(mesh);
    const Trajectory many = train(text, {.mesh = mesh, .steps = 12});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
  }
  const Job job = job_of(text + "layout_map: {words/embeddings: [data]}\n", "data=4");
  CHECK(job.split.samples == 10);
  const Trajectory split =
      train(text + "layout_map: {words/embeddings: [data]}\n", {.mesh = "data=4", .steps = 12});
  CHECK(loss_difference(one, split) < 1e-5);
}

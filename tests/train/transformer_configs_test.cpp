// The transformers of configs/, small, on many meshes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "support/patterns.h"
#include "support/temp_directory.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::test;
using namespace meshwork::testing;

namespace {

struct Small {
  const char* name;
  const char* params;   ///< of the model
  const char* dataset;  ///< {} stands for a text of 17 characters
  int batch = 6;
};

const std::vector<Small>& models() {
  static const std::string kText = "{{name: t, format: text, files: {}, splits: {{train: 1.0}}, ";
  static const std::string kPlain = kText + "context: 8}}";
  static const std::string kMasked =
      kText + "context: 8, mask_tokens: {{vocabulary_size: 17, mask_token_id: 17}}}}";
  static const std::vector<Small> kModels{
      {"gpt2",
       "{vocabulary: 17, context: 8, depth: 2, heads: 3, width: 12, dropout: 0.1, "
       "epsilon: 1.0e-5}",
       kPlain.c_str()},
      {"llama",
       "{vocabulary: 17, context: 8, depth: 2, heads: 6, key_heads: 3, head_width: 4, width: 24, "
       "hidden: 10, wavelength: 10000, stretch: 8, epsilon: 1.0e-5, qk_norm: false, tied: false, "
       "window: 5}",
       kPlain.c_str()},
      {"mixtral",
       "{vocabulary: 17, context: 8, depth: 2, heads: 6, key_heads: 3, head_width: 6, width: 24, "
       "hidden: 10, experts: 5, top_k: 2, capacity: 1.25, wavelength: 10000, epsilon: 1.0e-6, "
       "qk_norm: true, window: null}",
       kPlain.c_str()},
      {"bert",
       "{vocabulary: 18, context: 8, depth: 2, heads: 3, width: 12, dropout: 0.1, classes: 0, "
       "padding: false, pairs: false, epsilon: 1.0e-12}",
       kMasked.c_str()},
      {"vit", "{image: 8, patch: 4, depth: 2, heads: 3, width: 12, dropout: 0.1, classes: 5}",
       "{{name: t, format: synthetic, splits: {{train: {{x: {{normal: [18, 8, 8]}}, y: {{integers: "
       "[18], below: 5}}}}}}}}"},
      // Each expert takes all that chose it.
      {"mixtral",
       "{vocabulary: 17, context: 8, depth: 2, heads: 4, key_heads: 2, head_width: 4, width: 24, "
       "hidden: 14, experts: 6, top_k: 2, capacity: 3, wavelength: 10000, epsilon: 1.0e-6, "
       "qk_norm: false, window: 3}",
       kPlain.c_str()}};
  return kModels;
}

/// The file with a small model, other data and a learning rate that does not warm up.
std::string text_of(const Small& model, const TempDirectory& directory) {
  const std::string characters = "abcdefghijklmnopq";
  std::string written;
  for (std::size_t i = 0; i < 300; ++i) written += characters[i * i % 17];
  write_text(directory.file("t.txt"), written + characters);
  std::string text = read_text(fmt::format("configs/{}.yaml", model.name));
  const auto replace = [&](const char* pattern, const std::string& by) {
    const std::string before = text;
    text = replace_all(text, pattern, by);
    CHECK_MESSAGE(text != before, pattern);
  };
  replace("\n  params: \\{[^\n]*\\}", fmt::format("\n  params: {}", model.params));
  replace("\ndataset:[^\n]*(\n  [^\n]*)*\nblocks:",
          "\ndataset: " + fmt::format(fmt::runtime(model.dataset), directory.file("t.txt")) +
              "\nblocks:");
  replace("\n      learning_rate: [^\n]*", "\n      learning_rate: 0.003");
  // Adam would blow up the gradient of a key's bias, which is but rounding.
  replace("\n      weight_decay:", "\n      epsilon: 0.001\n      weight_decay:");
  replace("fit: \\{batch_size: [0-9]*", fmt::format("fit: {{batch_size: {}", model.batch));
  if (text.find("gradient_accumulation_steps") != std::string::npos) {
    replace("\n      gradient_accumulation_steps: 8", "");
  }
  return replace_all(text, ", validation: true|, validation_steps: [0-9]+", "");
}

}  // namespace

TEST_CASE(
    "GPT-2, Llama, Mixtral, BERT and ViT train alike on every mesh, as their files lay them out") {
  const TempDirectory directory;
  for (const Small& model : models()) {
    const std::string name = model.name;
    CAPTURE(name);
    const std::string text = text_of(model, directory);
    const Trajectory one = train(text, {.mesh = "1x1", .steps = 4});
    CHECK(one.losses.front() > 1);
    for (const std::string mesh : {"2x2", "1x8", "8x1", "2x4", "1x5"}) {
      CAPTURE(mesh);
      const Trajectory many = train(text, {.mesh = mesh, .steps = 4});
      CHECK(loss_difference(one, many) < 1e-5);
      CHECK(weight_difference(one, many) < 1e-4);
    }
  }
}

TEST_CASE("BERT's weights train a classifier of its first token") {
  const TempDirectory directory;
  Small model{"bert",
              "{vocabulary: 18, context: 8, depth: 1, heads: 2, width: 8, dropout: 0.0, epsilon: "
              "1.0e-12, classes: "
              "3, padding: "
              "false, pairs: false}",
              "{{name: t, format: synthetic, splits: {{train: {{x: {{integers: [18, 8], below: "
              "17}}, y: {{integers: [18], below: 3}}}}}}}}"};
  const Trajectory found = train(text_of(model, directory), {.mesh = "1x2", .steps = 2});
  CHECK(found.weights.contains("pooler/kernel"));
  CHECK(!found.weights.contains("transform/kernel"));
}

TEST_CASE("blocks have the paths that other programs' weights are mapped to") {
  const TempDirectory directory;
  const auto has = [&](const Small& model, const std::vector<std::string>& paths) {
    const Trajectory found = train(text_of(model, directory), {.mesh = "1x1", .steps = 0});
    for (const std::string& path : paths) CHECK_MESSAGE(found.weights.contains(path), path);
  };
  has(models()[0], {"tokens/embeddings", "positions/embeddings", "block_0/norm1/gamma",
                    "block_1/attention/query/kernel", "block_1/attention/attention_output/bias",
                    "block_0/norm2/beta", "block_0/up/kernel", "block_1/down/bias", "norm/gamma"});
  has(models()[1],
      {"tokens/embeddings", "block_0/norm1/scale", "block_1/attention/query/kernel",
       "block_0/attention/key/kernel", "block_0/attention/value/kernel",
       "block_0/attention/attention_output/kernel", "block_0/norm2/scale", "block_0/gate/kernel",
       "block_0/up/kernel", "block_0/down/kernel", "norm/scale", "logits/kernel"});
  has(models()[2],
      {"tokens/embeddings", "block_0/attention/query_norm/scale",
       "block_1/attention/key_norm/scale", "block_0/norm1/scale", "block_1/mixture/router/kernel",
       "block_0/mixture/experts/gate/kernel", "block_1/mixture/experts/up/kernel",
       "block_1/mixture/experts/down/kernel", "logits/kernel"});
  has(models()[3], {"tokens/embeddings", "positions/embeddings", "segments/embeddings",
                    "embedding_norm/gamma", "block_0/attention/key/bias", "block_1/norm1/gamma",
                    "block_1/up/kernel", "block_1/down/kernel", "block_1/norm2/gamma"});
}

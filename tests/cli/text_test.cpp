// Runs on text: what they leave for those who turn numbers into text again.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/job_folder.h"

using namespace meshwork::cli;
using Json = nlohmann::json;

namespace {

constexpr const char* kTextConfig = R"(mesh: {data: 2}
dataset:
  format: text
  files: input.txt
  splits: {train: 0.9, validation: 0.1}
  context: 4
  stride: {train: 1}
model:
  input: {shape: [4], dtype: int32}
  layers:
    - Embedding: {name: embedding, input_dim: 5, output_dim: 8}
    - Dense: {name: logits, units: 5}
compile:
  optimizer: {Adam: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 8, epochs: 4, validation: true}
run_directory: run
)";

/// "abcd\n" again and again: what comes next is never in doubt.
struct TextFolder : JobFolder {
  TextFolder() {
    write("c.yaml", kTextConfig);
    write("input.txt", lines("abcd\n"));
  }

  static std::string lines(const std::string& line) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += line;
    return text;
  }
};

}  // namespace

TEST_CASE("a model learns what comes next, and its vocabulary is kept") {
  const TextFolder folder;
  const std::string line = train(folder);
  CHECK(line.find(" val_accuracy=1 ") != std::string::npos);
  const Json vocabulary = Json::parse(folder.read("run/vocabulary.json"));
  CHECK(vocabulary.at("unit") == "character");
  CHECK(vocabulary.at("tokens") == Json{"\n", "a", "b", "c", "d"});
  const std::string evaluated = output(folder, "evaluate c.yaml --from run --verbose 0");
  CHECK(evaluated.find(" accuracy=1 ") != std::string::npos);
  folder.write("c.yaml", kTinyConfig);
  train(folder, "--overwrite");
  CHECK_FALSE(folder.has("run/vocabulary.json"));
}

TEST_CASE("a run on windows that is stopped goes on with the same windows") {
  const TextFolder folder;
  train(folder, "fit.steps_per_epoch=7 fit.epochs=2");
  const std::string whole = train(folder, "fit.steps_per_epoch=7 fit.epochs=4 --new");
  CHECK(train(folder, "fit.steps_per_epoch=7 fit.epochs=4 --resume") == whole);
}

TEST_CASE("weights are not used on text that is numbered otherwise") {
  const TextFolder folder;
  train(folder);
  folder.write("input.txt", TextFolder::lines("abxd\n"));
  const std::string other = complaint(folder, "evaluate c.yaml --from run", 3);
  CHECK(other.find("the weights were trained on 5 characters, and the data have 5 characters, of "
                   "which number 3 is 'c' there and 'd' here; use the text") != std::string::npos);
  CHECK(complaint(folder, "fit c.yaml --resume fit.epochs=9", 3) == other);
  folder.write("input.txt", TextFolder::lines("dcba\n"));
  output(folder, "evaluate c.yaml --from run --verbose 0");
  folder.write("input.txt", TextFolder::lines("aad\n"));
  complaint(folder, "evaluate c.yaml --from run", 3);
  output(folder, "evaluate c.yaml --from run --verbose 0 dataset.vocabulary=run/vocabulary.json");
}

TEST_CASE("validate says what the text is, and that the model is too small for it") {
  const TextFolder folder;
  const std::string report = output(folder, "validate c.yaml");
  CHECK(report.find("\n  train: 176 windows of 4 characters, 5 different, x int32 [4], y int32 [4]"
                    "\n  validation: 4 windows of 4 characters, 5 different, ") !=
        std::string::npos);
  const std::string small = " model.layers.embedding.input_dim=4";
  CHECK(complaint(folder, "validate c.yaml" + small, 3)
            .find("input.txt: 5 different characters, but the table 'embedding/embeddings' has 4; "
                  "make the model as large") != std::string::npos);
  CHECK(complaint(folder, "fit c.yaml model.layers.logits.units=4", 3)
            .find("5 different characters, but the model's output has 4") != std::string::npos);
}

namespace {

/// The same text by a tokenizer.
struct TokenizerFolder : TextFolder {
  TokenizerFolder() {
    use("bert");
    write("c.yaml", std::string(R"(dataset:
  format: text
  tokenizer: tokenizer.json
  documents: {separator: "\n"}
  files: input.txt
  splits: {train: 0.8, validation: 0.2}
  context: 4
model:
  inputs: {x: {shape: [4], dtype: int32}, segments: {shape: [4], dtype: int32}, positions: {shape: [4], dtype: int32}}
  layers:
    - Embedding: {name: tokens, input_dim: 450, output_dim: 8, inputs: x}
    - Embedding: {name: places, input_dim: 4, output_dim: 8, inputs: positions}
    - Add: {name: h, inputs: [tokens, places]}
    - MultiHeadAttention: {name: mix, num_heads: 2, key_dim: 4, use_causal_mask: true, inputs: {query: h, value: h, segments: segments}}
    - Dense: {name: logits, units: 450}
compile:
  optimizer: {Adam: {learning_rate: 0.05}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true, ignore_class: -1}}
fit: {batch_size: 8, epochs: 2, validation: true}
run_directory: run
)"));
    write("input.txt", lines("the mesh has a name\n"));
  }

  void use(const std::string& name) const {
    write("tokenizer.json",
          meshwork::read_text_file("tests/fixtures/tokenizers/" + name + ".json"));
  }
};

}  // namespace

TEST_CASE("a tokenizer is kept with the run, which then reads and writes texts") {
  const TokenizerFolder folder;
  train(folder);
  CHECK(Json::parse(folder.read("run/vocabulary.json")) ==
        Json{{"unit", "token"}, {"tokenizer", "tokenizer.json"}});
  CHECK(folder.read("run/tokenizer.json") == folder.read("tokenizer.json"));
  output(folder, "evaluate c.yaml --from run --verbose 0");
  const std::string text = output(
      folder, "generate c.yaml --from run --prompt 'The mesh' --max-tokens 3 --sampler greedy");
  CHECK(text.starts_with("[CLS] the mesh [SEP] "));
  const Json whole = Json::parse(output(
      folder,
      "generate c.yaml --from run --prompt 'The mesh' --max-tokens 3 --sampler greedy --json"));
  CHECK(whole.at("prompt").get<std::string>() + whole.at("text").get<std::string>() + "\n" == text);
}

TEST_CASE("weights are not used with another tokenizer, but with the same one written otherwise") {
  const TokenizerFolder folder;
  train(folder);
  const std::string given = folder.read("tokenizer.json");
  Json tokenizer = Json::parse(given);
  tokenizer["truncation"] = {{"max_length", 7}};
  folder.write("tokenizer.json", tokenizer.dump(2));
  output(folder, "evaluate c.yaml --from run --verbose 0");
  folder.use("cased_bert");
  const std::string other = complaint(folder, "evaluate c.yaml --from run", 3);
  CHECK(other.find("run/vocabulary.json: the weights were trained on 420 tokens, and the data have "
                   "420 tokens") != std::string::npos);
  CHECK(other.find("`tokenizer: ") != std::string::npos);
  output(folder, "evaluate c.yaml --from run --verbose 0 dataset.tokenizer=run/tokenizer.json");
  folder.write("run/tokenizer.json", "{}");
  CHECK(complaint(folder, "evaluate c.yaml --from run", 3).find("run/tokenizer.json: model") !=
        std::string::npos);
}

TEST_CASE(
    "a tokenizer.json beside weights, as Hugging Face's have it, says what tokens stand for") {
  const TokenizerFolder folder;
  train(folder);
  std::filesystem::create_directory(folder.path / "other");
  folder.write("other/model.safetensors", folder.read("run/final.safetensors"));
  folder.write("other/tokenizer.json", folder.read("tokenizer.json"));
  const std::string generate =
      "generate c.yaml dataset=null --max-tokens 3 --sampler greedy --from other ";
  CHECK(output(folder, generate + "--prompt 'The mesh'").starts_with("[CLS] the mesh [SEP] "));
  output(folder, "evaluate c.yaml --from other --verbose 0");
  // A token that was added behind the rows of the model.
  nlohmann::json padded = nlohmann::json::parse(folder.read("tokenizer.json"));
  nlohmann::json pad = padded["added_tokens"][0];
  pad["content"] = "<pad>";
  pad["id"] = 450;
  padded["added_tokens"].push_back(pad);
  folder.write("other/tokenizer.json", padded.dump());
  CHECK(output(folder, generate + "--prompt 'The mesh'").starts_with("[CLS] the mesh [SEP] "));
  CHECK(complaint(folder, generate + "--prompt 'a<pad>'", 2) ==
        "prompt 0: there is no token 450; they are numbered from 0 to 449");
  padded["model"]["vocab"]["own"] = 451;
  folder.write("other/tokenizer.json", padded.dump());
  CHECK(complaint(folder, generate + "--prompt a", 2) ==
        "the model gives scores for 450 tokens, but the vocabulary has 452; it was trained on "
        "another one");
  folder.use("cased_bert");
  folder.write("other/tokenizer.json", folder.read("run/tokenizer.json"));
  CHECK(complaint(folder, "evaluate c.yaml --from other", 3)
            .find("other/tokenizer.json: the weights were trained on 420 tokens") !=
        std::string::npos);
  // Numbers need none that can be read.
  folder.write("other/tokenizer.json", "{}");
  CHECK(complaint(folder, generate + "--prompt a", 3).find("other/tokenizer.json: model") !=
        std::string::npos);
  CHECK(!output(folder, generate + "--prompt-tokens 3,4").empty());
}

TEST_CASE("the only input of a model takes the tokens of documents") {
  const TokenizerFolder folder;
  output(folder,
         "fit c.yaml --verbose 0 'model={input: {shape: [4], dtype: int32}, layers: [Embedding: "
         "{name: tokens, input_dim: 450, output_dim: 8}, Dense: {name: logits, units: 450}]}'");
  output(folder, "evaluate run/config.yaml --verbose 0 --from run");
  output(folder, "predict run/config.yaml --verbose 0 --from run");
}

TEST_CASE("labels of documents need a loss that leaves them out") {
  const TokenizerFolder folder;
  const std::string error = complaint(
      folder, "fit c.yaml --verbose 0 compile.loss.SparseCategoricalCrossentropy.ignore_class=null",
      3);
  CHECK(error.find("a label is -1, which stands for none; give the loss `ignore_class: -1`") !=
        std::string::npos);
}

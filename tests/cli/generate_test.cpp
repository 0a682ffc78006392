// generate as a user runs it: what it prints, and says of mistakes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

constexpr const char* kModel = R"(mesh: {data: 1, model: 1}
strategy: model_parallel
batch_axis: data
layout_map: {'.*(query|key|value)/kernel': [null, model]}
dataset: {name: t, format: text, files: t.txt, splits: {train: 1.0}, context: 8, stride: {train: 1}}
model:
  input: {shape: [8], dtype: int32}
  layers:
    - TokenAndPositionEmbedding: {name: t, vocabulary_size: 7, sequence_length: 8, embedding_dim: 8}
    - TransformerDecoder: {name: a, intermediate_dim: 8, num_heads: 2}
    - Dense: {name: logits, units: 7}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}
fit: {batch_size: 8, epochs: 6}
run_directory: run
)";

/// A model that has learned "abc def abc def ..".
struct TextFolder : JobFolder {
  TextFolder() {
    std::string text;
    for (int i = 0; i < 60; ++i) text += "abc def ";
    write("t.txt", text);
    write("c.yaml", kModel);
    train(*this);
  }
};

const TextFolder& shared_folder() {
  static const TextFolder folder;
  return folder;
}

}  // namespace

TEST_CASE("generate goes on with a text, alike on every mesh and every time") {
  const TextFolder& folder = shared_folder();
  const std::string greedy = "generate c.yaml --from run --sampler greedy --max-tokens 9 --prompt ";
  CHECK(output(folder, greedy + "'abc '") == "abc def abc d\n");
  const std::string drawn =
      "generate c.yaml --sampler random --temperature 3 --max-tokens 30 --prompt 'abc' ";
  const std::string text = output(folder, drawn + "--from run --seed 4");
  CHECK(text.size() == 34);
  CHECK(text.starts_with("abc"));
  for (const char* mesh : {"", "--mesh 2x1", "--mesh 1x2", "--mesh 2x2", "--mesh 1x3"}) {
    CHECK(output(folder, drawn + "--from run --seed 4 " + mesh) == text);
  }
  CHECK(output(folder, drawn + "--from run --seed 5") != text);
  CHECK(output(folder, drawn + "--from run/final.safetensors --seed 4") == text);
}

TEST_CASE("several prompts and samples come one after the other") {
  const TextFolder& folder = shared_folder();
  folder.write("p.txt", "abc abc ");
  CHECK(output(folder,
               "generate c.yaml --from run --sampler greedy --max-tokens 4 --prompt 'abc ' "
               "--prompt-file p.txt --samples 2") ==
        "abc def \n---------------\nabc def \n---------------\nabc abc def \n---------------\n"
        "abc abc def \n");
  CHECK(output(folder,
               "generate c.yaml --from run --sampler greedy --max-tokens 20 --prompt 'abc' --stop "
               "'f a' --batch 1") == "abc de\n");
}

TEST_CASE("as JSON, a line tells all of a sequence") {
  const TextFolder& folder = shared_folder();
  const std::string lines = output(folder,
                                   "generate c.yaml --from run --json --sampler greedy "
                                   "--max-tokens 3 --prompt 'abc ' --prompt 'ab' --stop ef");
  const std::size_t end = lines.find('\n');
  REQUIRE(end != std::string::npos);
  const auto first = nlohmann::json::parse(lines.substr(0, end));
  CHECK(first["prompt"] == "abc ");
  CHECK(first["text"] == "d");
  CHECK(first["ended_by"] == "stop");
  CHECK(first["prompt_tokens"].size() == 4);
  const auto second = nlohmann::json::parse(lines.substr(end + 1));
  CHECK(second["text"] == "c d");
  CHECK(second["tokens"].size() == 3);
  CHECK(second["ended_by"] == "length");
}

TEST_CASE("tokens are numbers where nobody says what they stand for") {
  const TextFolder& folder = shared_folder();
  std::filesystem::copy(folder.path / "run/final.safetensors", folder.path / "w.safetensors");
  const std::string numbers = "generate c.yaml --from w.safetensors dataset=null ";
  // In the vocabulary a space is 0, "a" is 1.
  CHECK(output(folder, numbers + "--sampler greedy --max-tokens 4 --prompt-tokens 1,2,3,0") ==
        "1,2,3,0,4,5,6,0\n");
  CHECK(complaint(folder, numbers + "--prompt abc", 2) ==
        "w.safetensors: no vocabulary.json and no tokenizer.json beside the weights says what "
        "their tokens stand for, "
        "nor do the data; give numbers, --prompt-tokens 17,4,99");
  CHECK(complaint(folder, numbers + "--prompt-tokens 1 --stop a", 2) ==
        "--stop: tokens without texts have no end");
  CHECK(complaint(folder, numbers + "--prompt-tokens 1,x", 2) ==
        "--prompt-tokens: '1,x' is no list of whole numbers; write 17,4,99");
  CHECK(complaint(folder, numbers + "--prompt-tokens 1,7", 2) ==
        "prompt 0: there is no token 7; they are numbered from 0 to 6");
}

TEST_CASE("the vocabulary comes with the run, not from data that may have changed") {
  const TextFolder& folder = shared_folder();
  CHECK(output(folder,
               "generate c.yaml --from run dataset=null --sampler greedy --max-tokens 4 --prompt "
               "'abc '") == "abc def \n");
  CHECK(complaint(folder, "generate c.yaml --from run --prompt 'abx'", 2) ==
        "--prompt: character 2 is 'x' (U+0078), which is none of the 7 that the model was trained "
        "on; leave it out, or write it with these:  abcdef");
}

TEST_CASE("what generate cannot do says why") {
  const TextFolder& folder = shared_folder();
  const std::string begin = "generate c.yaml --from run ";
  CHECK(complaint(folder, begin, 2) ==
        "nothing to go on from; give --prompt TEXT, --prompt-file FILE or --prompt-tokens 17,4,99");
  CHECK(complaint(folder, begin + "--prompt ''", 2) ==
        "--prompt: an empty prompt; give one token or more, a line end (--prompt $'\\n') say");
  CHECK(complaint(folder, begin + "--prompt a --max-tokens 0", 2) ==
        "--max-tokens must be a whole number from 1 to 9223372036854775807, not '0'");
  CHECK(complaint(folder, begin + "--prompt a --stop ''", 2) ==
        "--stop: an empty text stops nothing; give one character or more");
  CHECK(complaint(folder, begin + "--prompt a --k 8", 2) ==
        "--k: 8 is more than the 7 tokens that there are; give fewer, or --sampler random");
  CHECK(complaint(folder, "generate c.yaml --from nowhere --prompt a", 3).starts_with("nowhere: "));
  CHECK(complaint(folder, begin + "--prompt-file none.txt", 3).starts_with("none.txt: "));
}

TEST_CASE("numbers of options are whole, decimal, and none is cut off") {
  const TextFolder& folder = shared_folder();
  const std::string begin = "generate c.yaml --from run --sampler greedy --prompt a ";
  CHECK(output(folder, begin + "--max-tokens 010") == output(folder, begin + "--max-tokens 10"));
  const std::string range = "must be a whole number from 0 to 18446744073709551615, not ";
  for (const std::string seed : {"99999999999999999999", "-1", "1.5", "0x1", "7 "}) {
    CHECK(complaint(folder, begin + "--seed '" + seed + "'", 2) ==
          "--seed " + range + "'" + seed + "'");
  }
  CHECK(complaint(folder, begin + "--samples 9999999999999999999", 2) ==
        "--samples must be a whole number from 1 to 9223372036854775807, not "
        "'9999999999999999999'");
  output(folder, begin + "--max-tokens 1 --seed 18446744073709551615");
}

TEST_CASE("the program of a token is dumped like any other") {
  const std::string text =
      output(shared_folder(), "generate c.yaml --from run --prompt a --dump layouts --mesh 1x2");
  CHECK(text.find("write_rows") != std::string::npos);
  CHECK(text.find("a/self_attention/key_cache") != std::string::npos);
}

// Generating with caches of keys and values: what the whole model says, on any mesh.
#include "train/generate.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/conversion.h"
#include "support/errors.h"
#include "support/patterns.h"
#include "support/temp_directory.h"
#include "train/language_models.h"

using namespace meshwork;
using namespace meshwork::testing;
using namespace meshwork::testing::language;

namespace {

using Tokens = std::vector<std::int32_t>;

/// Writes the initial weights, rounded to a dtype.
std::string weights_of(const std::string& text, const test::TempDirectory& directory,
                       DType dtype = DType::kFloat32) {
  Job job = job_without_data_of(text, "1x1");
  add_program(job, ProgramKind::kInitialize, 0);
  std::string file = directory.file(fmt::format("{}.safetensors", to_string(dtype)));
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    WeightsCopy weights = session.copy_weights();
    for (std::vector<std::byte>& bytes : weights) {
      auto* const floats = reinterpret_cast<float*>(bytes.data());
      for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
        if (is_narrow_float(dtype)) floats[i] = rounded_to(dtype, floats[i]);
      }
    }
    session.restore_weights(weights);
    session.save_weights(file);
  });
  return file;
}

std::vector<Tokens> generated(const std::string& text, const std::string& mesh,
                              const std::string& weights, Generation generation,
                              const TokenListener& listener = {}) {
  Job job = job_without_data_of(text, mesh);
  prepare_generate(job, generation);
  std::vector<Tokens> all(generation.prompts.size());
  run_on_devices(job, [&](const World& world) {
    generate(job, world, {weights}, generation, [&](auto sequence, auto index, auto token) {
      Tokens& tokens = all[static_cast<std::size_t>(sequence)];
      CHECK(std::ssize(tokens) == index);
      tokens.push_back(token);
      return listener && listener(sequence, index, token);
    });
  });
  return all;
}

/// The most probable tokens by the whole model, which sees the last half of a full context anew.
Tokens greedy(const std::string& text, const Tokens& prompt, std::int64_t count) {
  Tokens tokens = prompt;
  std::int64_t begin = std::max<std::int64_t>(0, std::ssize(prompt) - kContext);
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::ssize(tokens) - begin > kContext) begin = std::ssize(tokens) - kContext / 2;
    Tokens batch(static_cast<std::size_t>(kBatch * kContext), 0);
    std::copy(tokens.begin() + begin, tokens.end(), batch.begin());
    const std::vector<float> scores = whole_scores(text, batch);
    const auto last = scores.begin() + (std::ssize(tokens) - begin - 1) * kNumbers;
    tokens.push_back(static_cast<std::int32_t>(std::max_element(last, last + kNumbers) - last));
  }
  return {tokens.begin() + std::ssize(prompt), tokens.end()};
}

Generation some_generation() {
  return {.prompts = {{5}, {1, 2, 3}, {4, 4, 4, 4, 4, 9}, {7, 6, 5, 4, 3, 2, 1, 2, 3, 4}},
          .most_tokens = 13,
          .sampler = make_sampler({.name = "random"}),
          .seed = 3};
}

}  // namespace

TEST_CASE("what is generated is what the whole model says, also beyond its context") {
  const test::TempDirectory directory;
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::string text = text_of(model);
    Generation generation = some_generation();
    generation.sampler = make_sampler({.name = "greedy"});
    const auto found = generated(text, "1x1", weights_of(text, directory), generation);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == greedy(text, generation.prompts[i], generation.most_tokens));
    }
  }
}

TEST_CASE("no mesh and no batch changes what is generated") {
  const test::TempDirectory directory;
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::string text = text_of(model, model.heads);
    const std::string weights = weights_of(text, directory);
    Generation generation = some_generation();
    const auto expected = generated(text, "1x1", weights, generation);
    for (const Tokens& tokens : expected) CHECK(std::ssize(tokens) == 13);
    CHECK(expected[0] != expected[1]);
    for (const auto& way : {std::pair<const char*, std::int64_t>{"1x1", 1},
                            {"1x1", 3},
                            {"2x2", 4},
                            {"1x3", 2},
                            {"5x1", 8}}) {
      CAPTURE(way.first);
      generation.batch = way.second;
      CHECK(generated(text, way.first, weights, generation) == expected);
    }
  }
}

TEST_CASE("weights of float32 are read in 16 bits where all that reads them does") {
  const test::TempDirectory directory;
  const auto check = [&](const Model& model, const std::string& dtype) {
    CAPTURE(model.name);
    CAPTURE(dtype);
    const std::string text = text_of(model, model.heads) + "precision: mixed_" + dtype + "\n";
    const std::string weights = weights_of(text, directory);
    const std::string rounded = weights_of(text, directory, dtype_from_string(dtype));
    for (const char* mesh : {"1x1", "2x3"}) {
      CAPTURE(mesh);
      const auto found = generated(text, mesh, weights, some_generation());
      CHECK(found == generated(text, mesh, rounded, some_generation()));
    }
  };
  for (const Model& model : models()) {
    check(model, "bfloat16");
    check(model, "float16");
  }
}

TEST_CASE("a listener ends a sequence, and the next one takes its place") {
  const test::TempDirectory directory;
  const std::string text = text_of(models()[0]);
  const std::string weights = weights_of(text, directory);
  Generation generation = some_generation();
  generation.batch = 2;
  const auto whole = generated(text, "1x1", weights, generation);
  const auto ended = generated(text, "2x1", weights, generation,
                               [](auto sequence, auto index, auto) { return index == sequence; });
  for (std::size_t i = 0; i < ended.size(); ++i) {
    CHECK(ended[i] == Tokens(whole[i].begin(), whole[i].begin() + std::ssize(ended[i])));
    CHECK(ended[i].size() == i + 1);
  }
}

TEST_CASE("tokens to choose from, and tokens of prompts, are those of the model") {
  const std::string text = text_of(models()[0]);
  const auto error = [&](Generation generation) {
    Job job = job_without_data_of(text, "1x1");
    return test::error_of([&] { prepare_generate(job, generation); });
  };
  CHECK(error({.prompts = {{1}, {3, 11}}}) ==
        "2: prompt 1: there is no token 11; they are numbered from 0 to 10");
  CHECK(error({.prompts = {{1}}, .numbers = 13, .least = 12}) ==
        "2: the model gives scores for 11 tokens, but the vocabulary has 12; it was trained on "
        "another one");
  // Of tokens that have been added the model need not know.
  CHECK(error({.prompts = {{1}}, .numbers = 13, .least = 11}).empty());
  CHECK(error({.prompts = {{11}}, .numbers = 13, .least = 11}) ==
        "2: prompt 0: there is no token 11; they are numbered from 0 to 10");
  CHECK(error({.prompts = {{1}}, .sampler = {.k = 12}}) ==
        "2: --k: 12 is more than the 11 tokens that there are; give fewer, or --sampler random");
}

TEST_CASE("weights that have gone wrong end the run, on every device") {
  const test::TempDirectory directory;
  const std::string text =
      replace_all(text_of(models()[4]), "output_dim: 6",
                  "output_dim: 6, embeddings_initializer: {Constant: {value: 3.0e38}}");
  const std::string weights = weights_of(text, directory);
  const std::string error = test::error_of(
      [&] { generated(text, "2x1", weights, {.prompts = {{1}}, .most_tokens = 3}); });
  CHECK(error ==
        "1: sequence 0: the model's scores for token 0 are no numbers (NaN); the weights are not "
        "those of a training that went well");
}

TEST_CASE("devices that are to generate different things are found out") {
  const test::TempDirectory directory;
  const std::string text = text_of(models()[0]);
  const std::string weights = weights_of(text, directory);
  const auto complaint = [&](const std::function<void(Generation&)>& change) {
    return test::error_of([&] {
      Job job = job_without_data_of(text, "2x1");
      Generation generation = some_generation();
      prepare_generate(job, generation);
      run_on_devices(job, [&](const World& world) {
        Generation mine = generation;
        if (world.hosts->rank() == 1) change(mine);
        generate(job, world, {weights}, mine, [](auto, auto, auto) { return false; });
      });
    });
  };
  const auto found = [](const std::string& there, const std::string& here) {
    return "4: rank 1 has other options than rank 0: '" + there + "' there, '" + here +
           "' here; start all ranks with the same";
  };
  CHECK(complaint([](Generation& g) { g.most_tokens = 12; }) ==
        found("--max-tokens 12", "--max-tokens 13"));
  CHECK(complaint([](Generation& g) { g.seed = 4; }) == found("--seed 4", "--seed 3"));
  CHECK(complaint([](Generation& g) { g.sampler.temperature = 0.5; }) ==
        found("--temperature 0.5", "--temperature 1"));
  CHECK(complaint([](Generation& g) { g.sampler.is_greedy = true; }) ==
        found("sampler greedy", "sampler draws"));
  CHECK(complaint([](Generation& g) { g.prompts[1][2] = 8; })
            .starts_with("4: rank 1 has other options than rank 0: 'prompt 1: tokens 1,2,8, in all "
                         "3, digest "));
  CHECK(complaint([](Generation& g) { g.prompts[3].back() = 8; }).find("'prompt 3: ") !=
        std::string::npos);
  CHECK(complaint([](Generation&) {}) == "");
}

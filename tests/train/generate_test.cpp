// Generating with caches of keys and values: the numbers of the whole model, on any mesh.
#include "train/generate.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <mutex>
#include <regex>

#include "base/runs.h"
#include "job/session.h"
#include "model/decoder.h"
#include "support/errors.h"
#include "support/sent.h"
#include "train/whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

constexpr std::int64_t kContext = 8;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kNumbers = 11;

struct Model {
  const char* name;
  std::string layers;
  std::string heads;  ///< layouts that split heads and numbers of tokens
};

const std::string kHead = "    - Dense: {name: logits, units: 11}\n";

const std::vector<Model>& models() {
  static const std::vector<Model> kModels{
      {"GPT",
       R"(    - ReversibleEmbedding: {name: t, input_dim: 11, output_dim: 6}
    - PositionEmbedding: {name: p, sequence_length: 8}
    - Add: {name: e, inputs: [t, p]}
    - LayerNormalization: {name: n1}
    - MultiHeadAttention: {name: a, num_heads: 3, key_dim: 2, use_causal_mask: true, inputs: [n1, n1]}
    - Add: {name: s1, inputs: [e, a]}
    - MultiHeadAttention: {name: b, num_heads: 2, key_dim: 3, value_dim: 2, use_causal_mask: true, inputs: [s1, s1]}
    - Add: {name: s2, inputs: [s1, b]}
    - use: {layer: t, name: logits, reverse: true}
)",
       "{'.*(query|key|value)/kernel': [null, model], '.*attention_output/kernel': [model], "
       "t/embeddings: [model]}"},
      {"Llama",
       R"(    - Embedding: {name: t, input_dim: 11, output_dim: 6}
    - EinsumDense: {name: query, equation: 'btd,dhk->bthk', output_shape: [null, 6, 4], inputs: t}
    - EinsumDense: {name: key, equation: 'btd,dhk->bthk', output_shape: [null, 3, 4], inputs: t}
    - EinsumDense: {name: value, equation: 'btd,dhk->bthk', output_shape: [null, 3, 4], inputs: t}
    - RotaryEmbedding: {name: rq, inputs: query}
    - RotaryEmbedding: {name: rk, inputs: key}
    - DotProductAttention: {name: d, is_causal: true, inputs: [rq, rk, value]}
    - EinsumDense: {name: o, equation: 'bthk,hkd->btd', output_shape: [null, 6]}
    - RMSNormalization: {name: n}
)" + kHead,
       "{'.*(query|key|value)/kernel': [null, model], o/kernel: [model], logits/kernel: [null, "
       "model]}"},
      {"windows of groups",
       R"(    - TokenAndPositionEmbedding: {name: t, vocabulary_size: 11, sequence_length: 9, embedding_dim: 6}
    - GroupQueryAttention: {name: a, head_dim: 2, num_query_heads: 4, num_key_value_heads: 2, use_causal_mask: true, sliding_window: 3, use_gate: true, inputs: [t, t]}
    - Dropout: {rate: 0.5}
)" + kHead,
       "{'.*(query|key|value)/kernel': [null, model], logits/kernel: [null, model]}"},
      {"decoders of keras-hub, padded",
       R"(    - Embedding: {name: t, input_dim: 11, output_dim: 6, mask_zero: true}
    - SinePositionEncoding: {name: p}
    - Add: {name: e, inputs: [t, p]}
    - TransformerDecoder: {name: a, intermediate_dim: 5, num_heads: 2}
    - TransformerDecoder: {name: b, intermediate_dim: 5, num_heads: 3, normalize_first: true}
)" + kHead,
       "{'.*(query|key|value)/kernel': [null, model], '.*attention_output/kernel': [model], "
       "t/embeddings: [null, model]}"},
      {"no attention", "    - Embedding: {name: t, input_dim: 11, output_dim: 6}\n" + kHead,
       "{t/embeddings: [model], logits/kernel: [null, model]}"},
  };
  return kModels;
}

std::string text_of(const Model& model, const std::string& layouts = "{}") {
  return "mesh: {data: 1, model: 1}\nstrategy: model_parallel\nbatch_axis: data\nlayout_map: " +
         layouts + "\nmodel:\n  input: {shape: [8], dtype: int32}\n  layers:\n" + model.layers +
         "compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\n";
}

Job job_without_data_of(const std::string& text, const std::string& mesh) {
  Job job = job_without_data(config::parse_config(text, "c.yaml", {mesh, {}}), 0);
  job.signature.label = Field{"y", DType::kInt32, {kContext}};  // only to initialize
  job.target.threads = 1;
  return job;
}

/// Runs a program of a session on global inputs, all int32; gives a global output.
class Program {
 public:
  Program(const Session& session, const ProgramKey& key)
      : session_(session), executable_(session.executable(key)) {}

  void set(const std::string& name, const std::vector<std::int32_t>& values) {
    const TensorView view = executable_.input(name);
    if (view.data == nullptr) return;
    std::vector<std::int32_t> part(static_cast<std::size_t>(num_elements(view.type.shape)));
    for_each_run(view.region, view.type.shape, [&](const Run& run) {
      std::copy_n(values.data() + run.global, run.count, part.data() + run.local);
    });
    session_.upload(view, part.data());
  }

  /// This device's part is set in `global`.
  void run(const std::string& output, std::vector<float>& global) {
    executable_.run();
    const TensorView view = executable_.output(output);
    std::vector<float> part(static_cast<std::size_t>(num_elements(view.type.shape)));
    session_.download(part.data(), view);
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    global.resize(static_cast<std::size_t>(num_elements(view.region.global)));
    for_each_run(view.region, view.type.shape, [&](const Run& run) {
      std::copy_n(part.data() + run.local, run.count, global.data() + run.global);
    });
  }

 private:
  const Session& session_;
  const Executable& executable_;
};

/// [batch, context]: some tokens, which begin with one that is no padding.
std::vector<std::int32_t> some_tokens() {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < kBatch * kContext; ++i) {
    tokens.push_back(static_cast<std::int32_t>(i % kContext == 0 ? 5 : (i * i + 3 * i) % kNumbers));
  }
  return tokens;
}

/// Scores of the whole model, [batch, context, numbers].
std::vector<float> whole_scores(const std::string& text,
                                const std::vector<std::int32_t>& tokens = some_tokens()) {
  Job job = job_without_data_of(text, "1x1");
  job.signature.inputs.front().dtype = DType::kInt32;
  add_program(job, ProgramKind::kInitialize, 0);
  add_program(job, ProgramKind::kPredict, kBatch);
  std::vector<float> scores;
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    Program program(session, {ProgramKind::kPredict, kBatch});
    program.set(job.signature.inputs.front().name, tokens);
    program.run("prediction", scores);
  });
  return scores;
}

/// The same by reading parts of so many tokens, of which the sequences need one more from one to
/// the next.
std::vector<float> part_scores(const std::string& text, const std::string& mesh,
                               std::int64_t part) {
  Job job = job_without_data_of(text, mesh);
  add_program(job, ProgramKind::kInitialize, 0);
  add_decoder(job, kBatch, part);
  const std::vector<std::int32_t> tokens = some_tokens();
  std::vector<float> scores(static_cast<std::size_t>(kBatch * kContext * kNumbers));
  std::mutex mutex;
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
    Program program(session, {ProgramKind::kDecode, kBatch, part});
    // Sequence b gives the first b + 1 tokens, then as many as fit; a step asks for its last one.
    std::vector<std::int32_t> read(kBatch, 0);
    for (bool more = true; more;) {
      std::vector<std::int32_t> now(static_cast<std::size_t>(kBatch * part), 0), last(kBatch, 0);
      more = false;
      std::vector<std::int32_t> start = read;
      for (std::int64_t b = 0; b < kBatch; ++b) {
        std::int32_t& done = read[static_cast<std::size_t>(b)];
        const std::int64_t wanted = done == 0 ? b + 1 : part;
        const std::int64_t count = std::min({wanted, part, kContext - done});
        if (count == 0) start[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(kContext);
        for (std::int64_t i = 0; i < count; ++i) {
          now[static_cast<std::size_t>(b * part + i)] =
              tokens[static_cast<std::size_t>(b * kContext + done + i)];
        }
        last[static_cast<std::size_t>(b)] =
            static_cast<std::int32_t>(std::max<std::int64_t>(count - 1, 0));
        done += static_cast<std::int32_t>(count);
        more = more || done < kContext;
      }
      program.set("tokens", now);
      program.set("start", start);
      program.set("last", last);
      std::vector<float> found;
      program.run("scores", found);
      const std::lock_guard lock(mutex);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        const auto at = static_cast<std::size_t>(b);
        if (start[at] == kContext) continue;
        std::copy_n(found.data() + b * kNumbers, kNumbers,
                    scores.data() + (b * kContext + read[at] - 1) * kNumbers);
      }
    }
  });
  return scores;
}

/// The greatest difference where both say something.
double difference(const std::vector<float>& whole, const std::vector<float>& parts) {
  double worst = 0;
  std::size_t there = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (parts[i] == 0) continue;
    ++there;
    worst = std::max(worst, std::abs(static_cast<double>(whole[i]) - parts[i]));
  }
  CHECK(there >= static_cast<std::size_t>(kBatch * kNumbers));
  return worst;
}

}  // namespace

TEST_CASE("parts of sequences give the scores of the whole, whatever their length") {
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::vector<float> whole = whole_scores(text_of(model));
    for (const std::int64_t part : {1, 2, 3, 5, 8}) {
      CAPTURE(part);
      CHECK(difference(whole, part_scores(text_of(model), "1x1", part)) < 1e-5);
    }
  }
}

TEST_CASE("caches lie where the heads and the samples do, or where a layout puts them") {
  for (const Model& model : models()) {
    CAPTURE(model.name);
    const std::vector<float> whole = whole_scores(text_of(model));
    std::vector<std::string> layouts{model.heads};
    if (model.layers.find("Attention") != std::string::npos) {
      layouts.push_back(
          "{'.*key_cache': [data, model], '.*value_cache': [data, null, null, model]}");
    }
    for (const char* mesh : {"2x1", "1x2", "2x2", "1x3", "1x5", "4x2"}) {
      CAPTURE(mesh);
      for (const std::string& layout : layouts) {
        CAPTURE(layout);
        for (const std::int64_t part : {1, 3}) {
          CHECK(difference(whole, part_scores(text_of(model, layout), mesh, part)) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("a cache takes its share of every device's memory") {
  const Model& llama = models()[1];
  const auto memory = [&](const char* mesh, int device) {
    Job job = job_without_data_of(text_of(llama, llama.heads), mesh);
    add_decoder(job, kBatch, 1);
    return memory_use(plan_device(job, device, {}));
  };
  // Keys and values of 3 heads, 4 wide, at 8 places of 3 sequences, in float32.
  CHECK(memory("1x1", 0).cache == 2 * 3 * 4 * 8 * 3 * 4);
  CHECK(memory("1x3", 0).cache == 2 * 1 * 4 * 8 * 3 * 4);
  CHECK(memory("3x1", 2).cache == 2 * 3 * 4 * 8 * 1 * 4);
  CHECK(memory("3x3", 4).cache == 2 * 1 * 4 * 8 * 1 * 4);
}

TEST_CASE("a token costs two all-reduces in a block whose heads are split, and its scores") {
  const std::string layers = R"(    - Embedding: {name: t, input_dim: 11, output_dim: 6}
    - TransformerDecoder: {name: a, intermediate_dim: 8, num_heads: 2}
    - Dense: {name: logits, units: 12}
)";
  const char* layouts =
      "{'.*(query|key|value)/kernel': [null, model], '.*attention_output/kernel': [model], "
      "'.*intermediate_dense/kernel': [null, model], '.*output_dense/kernel': [model], "
      "logits/kernel: [null, model]}";
  Job job = job_without_data_of(text_of({"block", layers, ""}, layouts), "1x2");
  add_decoder(job, kBatch, 1);
  const std::vector<Sent> sent = sent_by(plan_device(job, 0, {}).plans.begin()->second);
  REQUIRE(sent.size() == 3);
  CHECK((sent[0].op == "all_reduce" && sent[0].elements == kBatch * 6));
  CHECK((sent[1].op == "all_reduce" && sent[1].elements == kBatch * 6));
  CHECK((sent[2].op == "all_gather" && sent[2].elements == kBatch * 6));
}

namespace {

using Tokens = std::vector<std::int32_t>;

/// Writes the initial weights.
std::string weights_of(const std::string& text, const test::TempDirectory& directory) {
  Job job = job_without_data_of(text, "1x1");
  add_program(job, ProgramKind::kInitialize, 0);
  std::string file = directory.file("weights.safetensors");
  run_on_devices(job, [&](const World& world) {
    Session session(job, world);
    session.initialize();
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
    for (const auto& [mesh, batch] : {std::pair<const char*, std::int64_t>{"1x1", 1},
                                      {"1x1", 3},
                                      {"2x2", 4},
                                      {"1x3", 2},
                                      {"5x1", 8}}) {
      CAPTURE(mesh);
      generation.batch = batch;
      CHECK(generated(text, mesh, weights, generation) == expected);
    }
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
  CHECK(error({.prompts = {{1}}, .numbers = 12}) ==
        "2: the model gives scores for 11 tokens, but the vocabulary has 12; it was trained on "
        "another one");
  CHECK(error({.prompts = {{1}}, .sampler = {.k = 12}}) ==
        "2: --k: 12 is more than the 11 tokens that there are; give fewer, or --sampler random");
}

TEST_CASE("weights that have gone wrong end the run, on every device") {
  const test::TempDirectory directory;
  const std::string text =
      std::regex_replace(text_of(models()[4]), std::regex("output_dim: 6"),
                         "output_dim: 6, embeddings_initializer: {Constant: {value: 3.0e38}}");
  const std::string weights = weights_of(text, directory);
  const std::string error = test::error_of(
      [&] { generated(text, "2x1", weights, {.prompts = {{1}}, .most_tokens = 3}); });
  CHECK(error ==
        "1: sequence 0: the model's scores for token 0 are no numbers (NaN); the weights are not "
        "those of a training that went well");
}

#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/runs.h"
#include "job/session.h"
#include "support/training.h"

/// Small language models, and the scores that they give for whole sequences.
namespace meshwork::testing::language {

constexpr std::int64_t kContext = 8;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kNumbers = 11;

struct Model {
  const char* name;
  std::string layers;
  std::string heads;  ///< layouts that split heads and numbers of tokens
};

inline const std::string kHead = "    - Dense: {name: logits, units: 11}\n";

inline const std::vector<Model>& models() {
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
      {"recurrent, padded",
       R"(    - Embedding: {name: t, input_dim: 11, output_dim: 6, mask_zero: true}
    - LSTM: {units: 4, return_sequences: true, recurrent_dropout: 0.5}
    - GRU: {units: 6, return_sequences: true, dropout: 0.5}
    - GRU: {units: 3, return_sequences: true, reset_after: false}
    - SimpleRNN: {units: 6, return_sequences: true, zero_output_for_mask: true}
    - TimeDistributed: {layer: {Dense: {units: 4, activation: tanh}}}
)" + kHead,
       "{'.*recurrent_kernel': [null, model], lstm/lstm_cell/kernel: [null, model], "
       "lstm/lstm_cell/bias: [model], "
       "gru/gru_cell/kernel: [model], 'gru/.*state_cache': [data, model], t/embeddings: [model]}"},
  };
  return kModels;
}

inline std::string text_of(const Model& model, const std::string& layouts = "{}") {
  return "mesh: {data: 1, model: 1}\nstrategy: model_parallel\nbatch_axis: data\nlayout_map: " +
         layouts + "\nmodel:\n  input: {shape: [8], dtype: int32}\n  layers:\n" + model.layers +
         "compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}}\n";
}

inline Job job_without_data_of(const std::string& text, const std::string& mesh) {
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
inline std::vector<std::int32_t> some_tokens() {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < kBatch * kContext; ++i) {
    tokens.push_back(static_cast<std::int32_t>(i % kContext == 0 ? 5 : (i * i + 3 * i) % kNumbers));
  }
  return tokens;
}

/// Scores of the whole model, [batch, context, numbers].
inline std::vector<float> whole_scores(const std::string& text,
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

}  // namespace meshwork::testing::language

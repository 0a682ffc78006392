// What no mesh may change.
#include <doctest/doctest.h>

#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

const std::string kModel = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [40, 9]}, y: {normal: [40, 4]}}}}
model:
  input: [9]
  layers:
    - Dense: {name: a, units: 13, activation: relu, kernel_initializer: he_normal, bias_initializer: ones}
    - Dropout: {rate: 0.5}
    - Dense: {name: b, units: 13, kernel_initializer: orthogonal, bias_initializer: random_normal}
    - Dense: {name: c, units: 13, kernel_initializer: identity}
    - Dense: {name: d, units: 4, kernel_initializer: truncated_normal}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 16}
)";

const std::string kLayouts = R"(
strategy: model_parallel
layout_map: {'a/kernel': [null, model], 'b/kernel': [model, data], 'c/kernel': [[data, model], null], 'd/bias': [data]}
)";

}  // namespace

TEST_CASE("initial weights have the same bits on every mesh, in every layout") {
  const Trajectory one = train("mesh: {data: 1, model: 1}\n" + kModel, {.steps = 0});
  CHECK(one.weights.at("a/bias")[0] == 1.0F);
  for (const char* mesh : {"8x1", "1x8", "2x3", "3x2", "4x2", "1x5"}) {
    CAPTURE(mesh);
    const Trajectory plain =
        train("mesh: {data: 1, model: 1}\n" + kModel, {.mesh = mesh, .steps = 0});
    const Trajectory laid_out =
        train("mesh: {data: 1, model: 1}\n" + kLayouts + kModel, {.mesh = mesh, .steps = 0});
    CHECK(plain.digest == one.digest);
    CHECK(laid_out.digest == one.digest);
  }
}

TEST_CASE("a run repeats to the last bit") {
  const std::string text = "mesh: {data: 3, model: 2}\n" + kLayouts + kModel;
  const Trajectory first = train(text, {.steps = 6});
  const Trajectory second = train(text, {.steps = 6});
  CHECK(first.digest == second.digest);
  CHECK(first.losses == second.losses);
}

TEST_CASE("another seed gives other weights, masks and batches") {
  const Trajectory first = train("seed: 1\nmesh: {data: 1, model: 1}\n" + kModel, {.steps = 2});
  const Trajectory second = train("seed: 2\nmesh: {data: 1, model: 1}\n" + kModel, {.steps = 2});
  CHECK(first.digest != second.digest);
  CHECK(first.losses != second.losses);
}

TEST_CASE("more devices than samples, units and classes: empty parts are legal") {
  const std::string text = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [7, 2]}, y: {integers: [7], below: 3}}}}
model:
  input: [2]
  layers:
    - Dense: {name: a, units: 3, activation: relu}
    - Dense: {name: b, units: 3}
compile: {optimizer: sgd, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 4}
)";
  const Trajectory one = train("mesh: {data: 1, model: 1}\n" + text, {.steps = 4});
  for (const std::string layouts :
       {"strategy: data_parallel\n",
        "strategy: model_parallel\nlayout_map: {'.*kernel': [null, data]}\n",
        "strategy: model_parallel\nlayout_map: {'b/output': [null, data]}\n",
        "strategy: model_parallel\nlayout_map: {'.*kernel': [[data, model], null]}\n"}) {
    CAPTURE(layouts);
    const Trajectory many = train(layouts + "mesh: {data: 8, model: 1}\n" + text, {.steps = 4});
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
    CHECK(one.metrics.at("accuracy") == doctest::Approx(many.metrics.at("accuracy")));
  }
}

TEST_CASE("augmented images are the same on every mesh, whoever holds which tile of them") {
  const std::string text = R"(
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [22, 6, 5, 2]}, y: {normal: [22, 3]}}}
  x: {augment: [RandomFlip, RandomCrop: {padding: 1}, RandomRotation: {factor: 0.1}]}
model:
  input: [6, 5, 2]
  layers:
    - Flatten:
    - Dense: {name: a, units: 3}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 8, drop_remainder: true}
mesh: {data: 1, height: 1, width: 1}
)";
  const std::string tiled = text + R"(
strategy: model_parallel
layout_map: {input/output: [data, height, width, null]}
)";
  const Trajectory one = train(text, {.steps = 5});
  std::string plain = text;
  plain.replace(plain.find("x: {augment"), plain.find("\nmodel") - plain.find("x: {augment"), "");
  CHECK(loss_difference(one, train(plain, {.steps = 5})) > 1e-3);
  for (const char* mesh : {"3x1x1", "1x2x1", "1x1x3", "2x2x2"}) {
    CAPTURE(mesh);
    CHECK(loss_difference(one, train(text, {.mesh = mesh, .steps = 5})) < 1e-5);
    CHECK(loss_difference(one, train(tiled, {.mesh = mesh, .steps = 5})) < 1e-5);
  }
}

TEST_CASE("a table may be split by its rows, its columns or both, and never travels") {
  const std::string text = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [24, 5], below: 11}, y: {integers: [24, 5], below: 3}}}}
model:
  input: {shape: [5], dtype: int32}
  layers:
    - Embedding: {name: tok, input_dim: 11, output_dim: 6}
    - Dense: {name: out, units: 3}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 9}
)";
  const Trajectory one = train("mesh: {data: 1, model: 1}\n" + text, {.steps = 6});
  for (const char* layout : {"[model, null]", "[null, model]", "[data, null]", "[data, model]",
                             "[[data, model], null]"}) {
    for (const char* mesh : {"1x3", "2x2", "4x2"}) {
      CAPTURE(layout);
      CAPTURE(mesh);
      const std::string layouts =
          fmt::format("strategy: model_parallel\nlayout_map: {{tok/embeddings: {}}}\n", layout);
      const Trajectory many =
          train("mesh: {data: 1, model: 1}\n" + layouts + text, {.mesh = mesh, .steps = 6});
      CHECK(loss_difference(one, many) < 1e-5);
    }
  }
}

TEST_CASE("operations train alike on any mesh, whatever dimension is split") {
  const std::string text = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [24, 7, 6]}, y: {normal: [24, 1]}}}}
model:
  input: [7, 6]
  layers:
    - Dense: {name: h, units: 10, activation: tanh}
    - GetItem: {name: a, key: ":, 1::2, :5"}
    - GetItem: {name: b, key: ":, :3, 5:", inputs: h}
    - Subtract: {name: distance, inputs: [a, b]}
    - Power: {x2: 2}
    - Sum: {name: squares, axis: -1, keepdims: true}
    - Clip: {x_min: 1.0e-7}
    - Sqrt: {name: root}
    - Roll: {name: turned, shift: 3, axis: -1, inputs: a}
    - Exp: {name: weights}
    - Max: {name: most, axis: [1, 2], keepdims: true}
    - Divide: {name: parts, inputs: [weights, most]}
    - StopGradient: {name: fixed, inputs: root}
    - Multiply: {name: product, inputs: [parts, fixed]}
    - Add: {inputs: [product, root]}
    - Std: {axis: 1}
    - Dense: {name: out, units: 1}
compile: {optimizer: {SGD: {learning_rate: 0.05}}, loss: mse}
fit: {batch_size: 9}
)";
  const Trajectory one = train("mesh: {data: 1, model: 1}\n" + text, {.steps = 5});
  for (const char* layout : {"h/output: [data, null, model]", "h/output: [data, model, null]",
                             "a/output: [null, model, data], parts/output: [model, null, data]",
                             "h/kernel: [null, model], out/kernel: [model, null]"}) {
    for (const char* mesh : {"1x3", "2x2", "4x2"}) {
      CAPTURE(layout);
      CAPTURE(mesh);
      const std::string layouts = fmt::format("layout_map: {{{}}}\n", layout);
      const Trajectory many =
          train("mesh: {data: 1, model: 1}\n" + layouts + text, {.mesh = mesh, .steps = 5});
      CHECK(loss_difference(one, many) < 1e-5);
      CHECK(weight_difference(one, many) < 1e-4);
    }
  }
}

TEST_CASE("padding counts as little on a mesh as on one device, wherever sequences are cut") {
  const std::string data = R"(
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [24, 5], below: 3}, y: {integers: [24LABELS], below: 3}}}}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 9}
model:
  input: {shape: [5], dtype: int32}
  layers:
    - Embedding: {name: tok, input_dim: 11, output_dim: 6, mask_zero: true}
)";
  const std::string by_step = "    - Dense: {name: out, units: 3}\n";
  const std::string by_sequence = R"(    - BatchNormalization: {name: norm}
    - GlobalAveragePooling1D: {name: mean}
    - Dense: {name: out, units: 3}
)";
  for (const std::string& layers : {by_step, by_sequence}) {
    CAPTURE(layers);
    std::string text = "mesh: {data: 1, model: 1}\n" + data + layers;
    text.replace(text.find("LABELS"), 6, layers == by_step ? ", 5" : "");
    const Trajectory one = train(text, {.steps = 6});
    std::string unmasked = text;
    unmasked.replace(unmasked.find(", mask_zero: true"), 17, "");
    CHECK(loss_difference(one, train(unmasked, {.steps = 6})) > 1e-3);
    for (const char* layout : {"[data, null, null]", "[data, model, null]", "[null, model, data]",
                               "[null, [data, model], null]"}) {
      for (const char* mesh : {"1x3", "2x2", "4x2"}) {
        CAPTURE(layout);
        CAPTURE(mesh);
        const std::string layouts =
            fmt::format("strategy: model_parallel\nlayout_map: {{tok/output: {}}}\n", layout);
        CHECK(loss_difference(one, train(text + layouts, {.mesh = mesh, .steps = 6})) < 1e-5);
      }
    }
  }
}

TEST_CASE("states are handed on alike on any mesh, however they and the kernels are cut") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
strategy: model_parallel
dataset: {name: t, format: synthetic, splits: {train: {source: {integers: [24, 5], below: 4}, target: {integers: [24, 4], below: 4}, y: {integers: [24, 4], below: 4}}}}
compile: {optimizer: {SGD: {learning_rate: 0.5}}, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 9}
model:
  inputs: {source: {shape: [5], dtype: int32}, target: {shape: [4], dtype: int32}}
  layers:
    - Embedding: {name: words, input_dim: 5, output_dim: 6, mask_zero: true, inputs: source}
    - LSTM: {name: read, units: 6, return_state: true, AGAIN}
    - Embedding: {name: others, input_dim: 5, output_dim: 3, mask_zero: true, inputs: target}
    - LSTM: {name: write, units: 6, return_sequences: true, inputs: {sequences: others, initial_state: [read/state_h, read/state_c]}}
    - Bidirectional: {name: both, layer: {GRU: {units: 3, return_state: true}}, inputs: words}
    - Concatenate: {name: ends, inputs: [both/backward_h, both/forward_h]}
    - SimpleRNN: {name: more, units: 6, return_sequences: true, inputs: [write, ends]}
    - Dense: {name: out, units: 4}
)";
  const auto trained = [&](const std::string& again, const std::string& layouts,
                           const std::string& mesh) {
    std::string whole = text;
    whole.replace(whole.find("AGAIN"), 5, again);
    return train(whole + "layout_map: {" + layouts + "}\n", {.mesh = mesh, .steps = 6});
  };
  const Trajectory one = trained("", "", "1x1");
  std::string swapped = text;
  swapped.replace(swapped.find("AGAIN"), 5, "");
  const std::string handed = "[read/state_h, read/state_c]";
  swapped.replace(swapped.find(handed), handed.size(), "[read/state_c, read/state_h]");
  CHECK(loss_difference(one, train(swapped + "layout_map: {}\n", {.steps = 6})) > 1e-4);
  CHECK(trained("rematerialize: true", "", "1x1").digest == one.digest);
  for (const std::string layouts :
       {"", "read/state_c: [null, model], .*recurrent_kernel: [null, model]",
        "read/state_h: [data, model], write/output: [data, null, model]",
        "both/backward_h: [model, data], .*lstm_cell/kernel: [model, null]"}) {
    for (const std::string mesh : {"1x3", "2x2", "4x2"}) {
      CAPTURE(layouts);
      CAPTURE(mesh);
      const Trajectory many = trained("rematerialize: true", layouts, mesh);
      CHECK(loss_difference(one, many) < 1e-5);
      CHECK(weight_difference(one, many) < 1e-4);
    }
  }
}

TEST_CASE("attention gives on any mesh what it gives on one device, wherever its steps are cut") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
dataset: {name: t, format: synthetic, splits: {train: {x: {integers: [24, 7], below: 3}, y: {integers: [24, 7], below: 3}}}}
model:
  input: {shape: [7], dtype: int32}
  layers:
    - Embedding: {name: tok, input_dim: 11, output_dim: 6, mask_zero: true}
    - Dense: {name: query, units: 5}
    - Dense: {name: value, units: 5, inputs: tok}
    - KIND: {name: mixed, ARGUMENTSdropout: 0.2, use_causal_mask: true, inputs: [query, value]}
    - Dense: {name: out, units: 3}
compile: {optimizer: adam, loss: {SparseCategoricalCrossentropy: {from_logits: true}}, metrics: [accuracy]}
fit: {batch_size: 9}
)";
  const std::map<std::string, std::string> kinds{
      {"Attention", ""},
      {"AdditiveAttention", ""},
      {"MultiHeadAttention", "num_heads: 3, key_dim: 2, value_dim: 3, "},
      {"GroupQueryAttention", "head_dim: 2, num_query_heads: 6, num_key_value_heads: 3, "}};
  for (const auto& kind : kinds) {
    std::string with_kind = text;
    with_kind.replace(with_kind.find("KIND"), 4, kind.first);
    with_kind.replace(with_kind.find("ARGUMENTS"), 9, kind.second);
    const Trajectory one = train(with_kind, {.steps = 6});
    for (const char* layouts :
         {"query/output: [data, model, null]", "value/output: [data, model, null]",
          "'(query|value)/output': [data, null, model]", "mixed/output: [null, data, model]",
          "{query/output: [null, data, null], value/output: [null, model, null]}"}) {
      for (const char* mesh : {"1x3", "2x2", "2x4"}) {
        CAPTURE(kind.first);
        CAPTURE(layouts);
        CAPTURE(mesh);
        const std::string map = layouts[0] == '{' ? layouts : fmt::format("{{{}}}", layouts);
        const std::string laid_out =
            with_kind + "strategy: model_parallel\nlayout_map: " + map + "\n";
        CHECK(loss_difference(one, train(laid_out, {.mesh = mesh, .steps = 6})) < 1e-5);
      }
    }
  }
}

TEST_CASE("tokens, positions and LoRA train alike in any layout") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
seed: 4
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {integers: [27, 7], below: 11}, y: {integers: [27, 7], below: 11}}}
model:
  input: {shape: [7], dtype: int32}
  layers:
    - ReversibleEmbedding: {name: tok, input_dim: 11, output_dim: 6, lora_rank: 3, lora_alpha: 2}
    - PositionEmbedding: {name: pos, sequence_length: 9}
    - SinePositionEncoding: {name: sines, inputs: tok}
    - TokenAndPositionEmbedding: {name: both, vocabulary_size: 11, sequence_length: 7, embedding_dim: 6, inputs: input}
    - Add: {name: sum, inputs: [tok, pos, sines, both]}
    - EinsumDense: {name: heads, equation: 'abc,cde->abde', output_shape: [7, 2, 4], bias_axes: de, lora_rank: 2}
    - RotaryEmbedding: {name: turned, rope_type: yarn, scaling_factor: 4, original_max_position_embeddings: 32}
    - EinsumDense: {name: joined, equation: 'abde,dec->abc', output_shape: [7, 6], bias_axes: c}
    - Dense: {name: mixed, units: 6, activation: tanh, lora_rank: 2, lora_alpha: 5}
    - use: {layer: tok, name: logits, reverse: true}
compile:
  optimizer: {Adam: {learning_rate: 0.01, epsilon: 0.001}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true, ignore_class: 3}}
  metrics: [Perplexity: {from_logits: true, mask_token_id: 3}]
fit: {batch_size: 9}
)";
  const Trajectory one = train(text, {.steps = 6});
  for (const char* layouts :
       {"tok/embeddings: [model]", "tok/embeddings: [null, model]",
        "{'.*/lora_embeddings_a': [model], '.*/lora_embeddings_b': [null, model]}",
        "{mixed/kernel: [null, model], mixed/lora_kernel_a: [model], tok/lora_embeddings_a: [null, "
        "model]}",
        "{heads/kernel: [null, model], heads/lora_kernel_a: [data, model], heads/output: [data, "
        "null, model]}",
        "turned/output: [data, null, null, model]", "pos/embeddings: [model, null]",
        "{both/position_embedding/embeddings: [null, model], sines/output: [data, model]}",
        "tok/output: [data, null, model]"}) {
    for (const char* mesh : {"1x3", "2x2"}) {
      CAPTURE(layouts);
      CAPTURE(mesh);
      const std::string map = layouts[0] == '{' ? layouts : fmt::format("{{{}}}", layouts);
      const std::string laid_out = text + "strategy: model_parallel\nlayout_map: " + map + "\n";
      CHECK(loss_difference(one, train(laid_out, {.mesh = mesh, .steps = 6})) < 1e-5);
    }
  }
}

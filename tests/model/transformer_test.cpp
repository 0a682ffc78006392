// Arguments and inputs of TransformerEncoder and TransformerDecoder; their numbers:
// keras_calls_test.cpp
#include <doctest/doctest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "model/build.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string model_of(const std::string& layers) {
  return "model: {input: [5, 6], layers: [" + layers + "]}";
}

std::string error_of(const std::string& layers, const std::string& input = "[5, 6]") {
  return build_error("model: {input: " + input + ", layers: [" + layers + "]}");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Two steps of an encoder and a decoder that drop much.
Trajectory train_dropping(const std::string& mesh, const std::string& rate,
                          const std::string& layouts = "") {
  return train(
      "mesh: {data: 1, model: 1}\n" + layouts +
          "dataset: {name: t, format: synthetic, splits: {train: {x: {normal: [12, 5, 6]}, "
          "y: {normal: [12, 5, 6]}}}}\n"
          "model: {input: [5, 6], layers: ["
          "TransformerEncoder: {name: e, intermediate_dim: 7, num_heads: 2, dropout: " +
          rate +
          "}, TransformerDecoder: {name: d, intermediate_dim: 7, num_heads: 3, dropout: " + rate +
          ", inputs: [input, e]}]}\n"
          "compile: {optimizer: sgd, loss: mse}\nfit: {batch_size: 6}\n",
      {.mesh = mesh, .steps = 2});
}

}  // namespace

TEST_CASE("no activation is none, as in keras-hub") {
  const auto relus = [](const std::string& activation) {
    const auto names = op_names(build(
        model_of("TransformerEncoder: {intermediate_dim: 3, num_heads: 2" + activation + "}")));
    return std::count(names.begin(), names.end(), "relu");
  };
  CHECK(relus("") == 1);
  CHECK(relus(", activation: null") == 0);
}

TEST_CASE("an encoder has keras-hub's variables, in its order whatever comes first") {
  for (const std::string first : {"false", "true"}) {
    const Graph graph =
        build(model_of("TransformerEncoder: {name: e, intermediate_dim: 3, "
                       "num_heads: 2, normalize_first: " +
                       first + "}"));
    CHECK(variable_paths(graph) ==
          std::vector<std::string>{
              "e/self_attention_layer/query/kernel", "e/self_attention_layer/query/bias",
              "e/self_attention_layer/key/kernel", "e/self_attention_layer/key/bias",
              "e/self_attention_layer/value/kernel", "e/self_attention_layer/value/bias",
              "e/self_attention_layer/attention_output/kernel",
              "e/self_attention_layer/attention_output/bias", "e/self_attention_layer_norm/gamma",
              "e/self_attention_layer_norm/beta", "e/feedforward_layer_norm/gamma",
              "e/feedforward_layer_norm/beta", "e/feedforward_intermediate_dense/kernel",
              "e/feedforward_intermediate_dense/bias", "e/feedforward_output_dense/kernel",
              "e/feedforward_output_dense/bias"});
  }
}

TEST_CASE("a decoder has cross attention where it is given another sequence") {
  const std::string decoder = "TransformerDecoder: {name: d, intermediate_dim: 3, num_heads: 2";
  const auto alone = variable_paths(build(model_of(decoder + "}")));
  const auto cross = variable_paths(build(model_of(decoder + ", inputs: [input, input]}")));
  CHECK(alone.size() == 16);
  CHECK(cross.size() == 26);
  CHECK(alone[0] == "d/self_attention/query/kernel");
  CHECK(alone.back() == "d/feedforward_layer_norm/beta");
  CHECK(cross[10] == "d/cross_attention/query/kernel");
  CHECK(cross[18] == "d/cross_attention_layer_norm/gamma");
}

TEST_CASE("inputs by name are those of the list, in any order, and some may be left out") {
  const std::string before =
      "Dense: {name: m, units: 5}, MultiHeadAttention: {name: a, num_heads: 2, "
      "key_dim: 3, inputs: ";
  const auto names = [&](const std::string& inputs) {
    return op_names(build(model_of(before + inputs + "}")));
  };
  CHECK(names("{value: input, attention_mask: m, query: input}") ==
        names("[input, input, input, m]"));
  CHECK(names("{value: input, query: m, attention_mask: m}") !=
        names("[m, input, m]"));  // the third of the list is the key
}

TEST_CASE("what inputs by name cannot be is an error that says what fits") {
  const std::string heads = "MultiHeadAttention: {num_heads: 2, key_dim: 3, inputs: ";
  CHECK(contains(error_of(heads + "{query: input, valu: input}}"),
                 "takes no input 'valu'; nearest: 'value'"));
  CHECK(contains(error_of(heads + "{query: input, key: input}}"), "needs an input 'value'"));
  CHECK(contains(error_of("Dense: {units: 3, inputs: {x: input}}"),
                 "has no names for its inputs; give them as a list: inputs: [input]"));
  CHECK(contains(build_error("blocks: {b: {layers: [ReLU: ]}}\nmodel: {input: [5], layers: [b: "
                             "{inputs: {input: input}}]}"),
                 "takes its inputs as a list"));
  CHECK(contains(error_of(heads + "{}}"), "inputs is empty"));
}

TEST_CASE("what an encoder or a decoder cannot take is an error that says what fits") {
  const std::string encoder = "TransformerEncoder: {intermediate_dim: 3, num_heads: 2, ";
  CHECK(contains(error_of("TransformerEncoder: {num_heads: 2}"), "intermediate_dim"));
  CHECK(contains(error_of("TransformerEncoder: {intermediate_dim: 3, num_heads: 7}"),
                 "num_heads is 7, but samples [5, 6] have only 6 features"));
  CHECK(contains(error_of("TransformerEncoder: {intermediate_dim: 3, num_heads: 2}", "[6]"),
                 "needs samples [steps, features], not [6]"));
  CHECK(contains(error_of(encoder + "dropout: 1.5}"), "dropout is 1.5"));
  CHECK(contains(error_of(encoder + "activation: gelo}"), "gelu"));
  CHECK(contains(error_of(encoder + "droput: 0.5}"), "dropout"));
  CHECK(contains(error_of("Dense: {name: m, units: 1}, " + encoder +
                          "inputs: {inputs: input, padding_mask: m}}"),
                 "the padding mask has samples [5, 1]; it needs [5]"));
  CHECK(contains(error_of("Dense: {name: m, units: 4}, " + encoder +
                          "inputs: {inputs: input, attention_mask: m}}"),
                 "it needs [5, 5]"));
  CHECK(contains(error_of("Dense: {name: m, units: 5}, TransformerDecoder: {intermediate_dim: 3, "
                          "num_heads: 2, inputs: {decoder_sequence: input, "
                          "encoder_attention_mask: m}}"),
                 "has a mask of the encoder, but no encoder_sequence"));
}

TEST_CASE("attention between projections of one's own is that of GroupQueryAttention") {
  const auto losses = [](const std::string& layers) {
    return train(
               "mesh: {data: 1}\ndataset: {name: t, format: synthetic, splits: {train: {x: "
               "{normal: [12, 5, 6]}, y: {normal: [12, 5, 6]}}}}\n"
               "model: {input: [5, 6], layers: [" +
                   layers + "]}\ncompile: {optimizer: sgd, loss: mse}\nfit: {batch_size: 6}\n",
               {.steps = 3})
        .losses;
  };
  const std::string ones = "kernel_initializer: {Constant: {value: 0.125}}";
  const std::string shared = "is_causal: true, sliding_window: 3, inputs: [q, k, v]";
  const auto project = [&](const std::string& name, const std::string& heads) {
    return "EinsumDense: {name: " + name + ", equation: 'btd,dhk->bthk', output_shape: [null, " +
           heads + ", 3], " + ones + ", inputs: input}, ";
  };
  const auto apart =
      losses(project("q", "4") + project("k", "2") + project("v", "2") + "DotProductAttention: {" +
             shared + "}, EinsumDense: {equation: 'bthk,hkd->btd', output_shape: [null, 6], " +
             ones + "}");
  const auto whole = losses(
      "GroupQueryAttention: {head_dim: 3, num_query_heads: 4, num_key_value_heads: 2, "
      "use_bias: false, use_causal_mask: true, sliding_window: 3, " +
      ones + ", inputs: [input, input]}");
  REQUIRE(apart.size() == whole.size());
  for (std::size_t i = 0; i < apart.size(); ++i) CHECK(apart[i] == doctest::Approx(whole[i]));
  CHECK(whole.back() < whole.front());
}

TEST_CASE("what attention between projections cannot take is an error that says what fits") {
  const std::string parts =
      "Reshape: {name: a, target_shape: [5, 3, 2]}, Reshape: {name: b, target_shape: [5, 2, 3], "
      "inputs: input}, ";
  CHECK(contains(error_of("DotProductAttention: {inputs: [input, input, input]}"),
                 "needs samples [steps, heads, width], not [5, 6]"));
  CHECK(contains(error_of(parts + "DotProductAttention: {inputs: [a, b, b]}"),
                 "query and key one width"));
  CHECK(contains(error_of(parts + "Dense: {name: c, units: 2, inputs: b}, "
                                  "DotProductAttention: {inputs: [a, c, c]}"),
                 "must be a multiple of those of the key, not 3 of 2"));
}

TEST_CASE("what encoders and decoders drop does not depend on the mesh") {
  const Trajectory one = train_dropping("1x1", "0.4");
  CHECK(loss_difference(one, train_dropping("1x1", "0.0")) > 1e-3);
  const std::string layouts =
      "strategy: model_parallel\nlayout_map:\n  '.*/(query|key|value)/kernel': [null, model]\n"
      "  '.*/attention_output/kernel': [model]\n  '.*intermediate_dense/kernel': [null, model]\n"
      "  e/output: [data, model]\n";
  for (const char* mesh : {"2x2", "1x4", "3x1", "2x3"}) {
    CAPTURE(mesh);
    const Trajectory many = train_dropping(mesh, "0.4", layouts);
    CHECK(loss_difference(one, many) < 1e-5);
    CHECK(weight_difference(one, many) < 1e-4);
  }
}

TEST_CASE("each part of a layer drops for itself, and so does each use of it") {
  const auto keys = [](const std::string& layers) {
    std::vector<std::int64_t> found;
    const Graph graph = build(model_of(layers) + "\ncompile: {loss: mse}\n", Mode::kTrain, 4,
                              {Field{"y", DType::kFloat32, {5, 6}}});
    for (const Node& node : graph.nodes) {
      if (node.op->name == "random_uniform") found.push_back(node.attrs.integer("key"));
    }
    std::sort(found.begin(), found.end());
    CHECK(std::adjacent_find(found.begin(), found.end()) == found.end());
    return found.size();
  };
  const std::string encoder =
      "TransformerEncoder: {name: e, intermediate_dim: 3, num_heads: 2, dropout: 0.5}";
  CHECK(keys(encoder) == 2);
  CHECK(keys(encoder + ", use: {layer: e, name: again}") == 4);
}

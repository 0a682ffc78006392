// Recurrent layers and their wrappers: variables, what is dropped, and what they refuse. Their
// numbers are Keras's: keras_calls_test.cpp.
#include <doctest/doctest.h>

#include <algorithm>

#include "model/build.h"
#include "ops/ops.h"
#include "optim/step.h"

using namespace meshwork;

namespace {

std::string model_of(const std::string& layers, const std::string& input = "[5, 2]") {
  return "model:\n  input: " + input + "\n  layers: [" + layers + "]\n";
}

std::string error_of_layers(const std::string& layers, const std::string& input = "[5, 2]") {
  return build_error(model_of(layers, input));
}

std::vector<std::string> paths_of(const std::string& layers, const std::string& input = "[5, 2]") {
  return variable_paths(build(model_of(layers, input)));
}

Shape shape_of(const Graph& graph, const std::string& path) {
  for (const Variable& variable : graph.variables) {
    if (variable.path == path) return graph.type(variable.value).shape;
  }
  return {};
}

/// Shapes of what a program draws.
std::vector<Shape> draws(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Node& node : graph.nodes) {
    if (node.op == &ops::kRandomUniform) shapes.push_back(node.type.shape);
  }
  return shapes;
}

Graph training(const std::string& layers) {
  const std::string text = model_of(layers + ", Dense: {units: 1}") + "compile: {loss: mse}\n";
  return build(text, Mode::kTrain, 4, {Field{"label", DType::kFloat32, {1}}});
}

std::size_t count(const Graph& graph, const OpDef& op) {
  return static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.op == &op; }));
}

}  // namespace

TEST_CASE("a pooling over steps needs a mask of steps") {
  CHECK(error_of_layers("Masking, TimeDistributed: {layer: {LSTM: {units: 2}}}, "
                        "GlobalAveragePooling1D",
                        "[3, 4, 2]") ==
        "c.yaml:3:67: layer 'global_average_pooling1d' (GlobalAveragePooling1D): its input has a "
        "mask of samples [3, 4], and it needs one number for each step; put a recurrent layer "
        "before it, or the pooling inside a TimeDistributed");
}

TEST_CASE("a layer that cannot use a mask within steps says where it stands") {
  CHECK(error_of_layers("Masking, TimeDistributed: {layer: {LSTM: {units: 3}}}, Multiply: {inputs: "
                        "[time_distributed, time_distributed]}",
                        "[3, 4, 2]") ==
        "c.yaml:3:67: multiply: cannot combine shapes [4, 3, 4] and [4, 3, 3]: dimension 2 is 4 "
        "and 3");
}

TEST_CASE("cells have Keras's variables") {
  const Graph graph = build(model_of(
      "LSTM: {units: 3, return_sequences: true}, GRU: {units: 4, return_sequences: true}, "
      "GRU: {units: 4, return_sequences: true, reset_after: false}, SimpleRNN: {units: 2}"));
  CHECK(variable_paths(graph) ==
        std::vector<std::string>{
            "lstm/lstm_cell/kernel", "lstm/lstm_cell/recurrent_kernel", "lstm/lstm_cell/bias",
            "gru/gru_cell/kernel", "gru/gru_cell/recurrent_kernel", "gru/gru_cell/bias",
            "gru_1/gru_cell/kernel", "gru_1/gru_cell/recurrent_kernel", "gru_1/gru_cell/bias",
            "simple_rnn/simple_rnn_cell/kernel", "simple_rnn/simple_rnn_cell/recurrent_kernel",
            "simple_rnn/simple_rnn_cell/bias"});
  CHECK(shape_of(graph, "lstm/lstm_cell/kernel") == Shape{2, 12});
  CHECK(shape_of(graph, "lstm/lstm_cell/recurrent_kernel") == Shape{3, 12});
  CHECK(shape_of(graph, "lstm/lstm_cell/bias") == Shape{12});
  CHECK(shape_of(graph, "gru/gru_cell/bias") == Shape{2, 12});
  CHECK(shape_of(graph, "gru_1/gru_cell/bias") == Shape{12});
  CHECK(graph.variables[1].init == &ops::kOrthogonal);
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 2});
}

TEST_CASE("the bias of a forget gate begins at 1, whatever the initializer gives") {
  const auto text = [](const char* more) {
    return model_of(std::string("LSTM: {units: 3, name: r") + more + "}");
  };
  CHECK(build(text("")).variables.back().ones == Shape{3, 6});
  CHECK(build(text(", unit_forget_bias: false")).variables.back().ones.empty());
  const Graph start = initialization(build(text(", bias_initializer: random_normal")));
  verify(start);
  CHECK(count(start, ops::kConcatenate) == 1);
  const Node& bias = start.node(start.updates.back().value);
  CHECK(bias.op == &ops::kConcatenate);
  CHECK(bias.type.shape == Shape{12});
}

TEST_CASE("wrapped layers are named and counted as in Keras") {
  CHECK(paths_of("Bidirectional: {layer: {LSTM: {units: 1, return_sequences: true}}}, "
                 "Bidirectional: {layer: {LSTM: {units: 1, use_bias: false}}}") ==
        std::vector<std::string>{"bidirectional/forward_lstm/lstm_cell/kernel",
                                 "bidirectional/forward_lstm/lstm_cell/recurrent_kernel",
                                 "bidirectional/forward_lstm/lstm_cell/bias",
                                 "bidirectional/backward_lstm/lstm_cell/kernel",
                                 "bidirectional/backward_lstm/lstm_cell/recurrent_kernel",
                                 "bidirectional/backward_lstm/lstm_cell/bias",
                                 "bidirectional_1/forward_lstm_1/lstm_cell/kernel",
                                 "bidirectional_1/forward_lstm_1/lstm_cell/recurrent_kernel",
                                 "bidirectional_1/backward_lstm_1/lstm_cell/kernel",
                                 "bidirectional_1/backward_lstm_1/lstm_cell/recurrent_kernel"});
  CHECK(paths_of("Bidirectional: {name: b, layer: {GRU: {name: forward_g, units: 1, use_bias: "
                 "false}}, backward_layer: {GRU: {units: 1, use_bias: false, go_backwards: true}}}"
                 ", RepeatVector: {n: 2}, TimeDistributed: {layer: {Dense: {units: 2}}}, Flatten, "
                 "Dense: {units: 1}") ==
        std::vector<std::string>{"b/forward_g/gru_cell/kernel",
                                 "b/forward_g/gru_cell/recurrent_kernel", "b/gru/gru_cell/kernel",
                                 "b/gru/gru_cell/recurrent_kernel", "time_distributed/dense/kernel",
                                 "time_distributed/dense/bias", "dense_1/kernel", "dense_1/bias"});
}

TEST_CASE("what is dropped is drawn once for all steps, and for each gate where Keras does") {
  CHECK(draws(training("LSTM: {units: 3, dropout: 0.5}")) == std::vector<Shape>{{1, 4, 1, 2}});
  CHECK(draws(training("LSTM: {units: 3, dropout: 0.5, recurrent_dropout: 0.5}")) ==
        std::vector<Shape>{{4, 4, 1, 2}, {4, 4, 3}});
  CHECK(draws(training("GRU: {units: 3, dropout: 0.5, implementation: 1}")) ==
        std::vector<Shape>{{3, 4, 1, 2}});
  CHECK(draws(training("SimpleRNN: {units: 3, dropout: 0.5, recurrent_dropout: 0.5}")) ==
        std::vector<Shape>{{1, 4, 1, 2}, {1, 4, 3}});
  CHECK(draws(training("LSTM: {units: 3}")).empty());
  const Graph graph =
      training("SimpleRNN: {units: 2, dropout: 0.5, recurrent_dropout: 0.5, seed: 7}");
  std::vector<std::int64_t> keys;
  for (const Node& node : graph.nodes) {
    if (node.op == &ops::kRandomUniform) keys.push_back(node.attrs.integer("key"));
  }
  REQUIRE(keys.size() == 2);
  CHECK(keys[0] != keys[1]);
}

TEST_CASE("the input of all steps is one product, and a step one") {
  CHECK(count(build(model_of("LSTM: {units: 3}")), ops::kEinsum) == 1 + 4);
  CHECK(count(build(model_of("GRU: {units: 3}")), ops::kEinsum) == 1 + 4);
  CHECK(count(build(model_of("GRU: {units: 3, reset_after: false}")), ops::kEinsum) == 1 + 2 * 4);
}

TEST_CASE("regularizers, constraints and trainable of a cell, and of a wrapped one") {
  const std::string given =
      "kernel_regularizer: l2, recurrent_regularizer: l2, bias_constraint: non_neg";
  CHECK(count(training("LSTM: {units: 3, " + given + "}"), ops::kSquare) == 3);
  const Graph graph =
      training("Bidirectional: {layer: {LSTM: {units: 3, trainable: false, " + given + "}}}");
  CHECK(std::ranges::count(graph.variables, true, &Variable::trainable) == 2);
  CHECK(error_of_layers("Bidirectional: {layer: {GRU: {units: 3, gamma_regularizer: l2}}}")
            .ends_with("'gru' (GRU): 'gamma_regularizer': it has no variable 'gamma'"));
}

TEST_CASE("recurrent layers refuse what they do not do, and say what does") {
  const std::string at = "c.yaml:3:18: layer 'lstm' (LSTM)";
  CHECK(error_of_layers("LSTM: {units: 3, stateful: true}") ==
        at + ": 'stateful' is not supported; no batch begins where the one before ended, so give "
             "the layer longer sequences");
  CHECK(
      error_of_layers("LSTM: {units: 3}", "[5]") ==
      at + " needs samples [steps, features], not [5]; put a Reshape before it, or an Embedding of "
           "numbers of tokens");
  CHECK(error_of_layers("LSTM: {units: 3}", "[2001, 1]") ==
        at + ": sequences have 2001 steps; it takes 1 to 2000, so cut them");
  CHECK(error_of_layers("LSTM: {units: 4, activation: glu}")
            .ends_with("activation may not change the number of units"));
  CHECK(error_of_layers("LSTM: {units: 3, dropout: 1.0}").find("dropout is 1.0") !=
        std::string::npos);
  CHECK(error_of_layers("LSTM: {units: 3, reset_after: true}").find("'reset_after'") !=
        std::string::npos);
  CHECK(error_of_layers("LSTM: {units: 3, unroll: true, use_cudnn: auto}").empty());
}

TEST_CASE("wrappers refuse layers that they cannot be around") {
  CHECK(error_of_layers("Bidirectional: {layer: {Dense: {units: 3}}}")
            .ends_with("layer 'bidirectional' (Bidirectional): 'Dense' is no recurrent layer; give "
                       "it LSTM, GRU or SimpleRNN"));
  CHECK(error_of_layers("Bidirectional: {layer: {GRU: {units: 3}}, merge_mode: null}")
            .ends_with("merge_mode: null, which joins nothing, is not supported; take two layers, "
                       "the second with go_backwards: true"));
  CHECK(error_of_layers("Bidirectional: {layer: {GRU: {units: 3, go_backwards: true}}}")
            .ends_with("layer has to go forwards; leave go_backwards out"));
  CHECK(error_of_layers("Bidirectional: {merge_mode: sum, layer: {GRU: {units: 3}}, "
                        "backward_layer: {GRU: {units: 2, go_backwards: true}}}")
            .ends_with("its layers give samples [3] and [2]; give both as many units"));
  CHECK(error_of_layers("Bidirectional: {layer: {GRU: {units: 3, dtype: float32}}}")
            .ends_with("'dtype' is not supported here; give it to the wrapper"));
  CHECK(error_of_layers("Bidirectional: {layer: {Gru: {units: 3}}}").find("nearest: 'GRU'") !=
        std::string::npos);
  CHECK(error_of_layers("Bidirectional: {layer: GRU}").find("needs the key 'units'") !=
        std::string::npos);
  CHECK(error_of_layers("TimeDistributed: {layer: Flatten}", "[5, 2, 3]").empty());
  CHECK(error_of_layers("Bidirectional: {units: 3}").find("layer") != std::string::npos);
  CHECK(error_of_layers("TimeDistributed: {layer: {Add: {}}}")
            .ends_with("'Add' takes several inputs; a step gives one"));
  CHECK(error_of_layers("TimeDistributed: {layer: {Dense: {units: 3}}}", "[5]")
            .ends_with("needs samples [steps, features..], not [5]"));
}

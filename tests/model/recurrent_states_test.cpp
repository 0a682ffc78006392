// The states that recurrent layers begin with and give: names, shapes, layouts and errors. Their
// numbers are Keras's: keras_calls_test.cpp.
#include <doctest/doctest.h>

#include "base/names.h"
#include "model/build.h"

using namespace meshwork;

namespace {

const std::string kEncoder = "LSTM: {name: encoder, units: 3, return_state: true}";
const std::string kStates = "[encoder/state_h, encoder/state_c]";

std::string model_of(const std::string& layers, const std::string& more = "") {
  return "model:\n  input: [5, 2]\n  layers: [" + layers + "]\n" + more;
}

std::string error_of(const std::string& layers, const std::string& more = "") {
  return build_error(model_of(layers, more));
}

std::string decoder(const std::string& kind, const std::string& states, int units = 3) {
  return fmt::format(
      "{}: {{name: decoder, units: {}, inputs: {{sequences: input, initial_state: {}}}}}", kind,
      units, states);
}

/// The shape of `path`, an output of a layer; of none: [].
Shape shape_of(const Graph& graph, const std::string& path) {
  for (const NamedValue& output : graph.layer_outputs) {
    if (output.name == path) return graph.type(output.value).shape;
  }
  return {};
}

/// An error about the layer that stands behind `layer`.
std::string behind(const std::string& layer, const std::string& other) {
  const std::string error = error_of(layer + ", " + other);
  return error.substr(error.find(' ') + 1);
}

}  // namespace

TEST_CASE("a layer gives its states as outputs of their own") {
  const Graph graph = build(model_of(kEncoder + ", " + decoder("LSTM", kStates)));
  CHECK(shape_of(graph, "encoder/output") == Shape{4, 3});
  CHECK(shape_of(graph, "encoder/state_h") == Shape{4, 3});
  CHECK(shape_of(graph, "encoder/state_c") == Shape{4, 3});
  CHECK(shape_of(graph, "decoder/state_h").empty());
  CHECK(variable_paths(graph).size() == 6);
}

TEST_CASE("states go on to any layer, by place or by name, and out of the model") {
  CHECK(error_of(kEncoder + ", GRU: {units: 3, inputs: [input, encoder/state_c]}").empty());
  CHECK(error_of(kEncoder + ", Dense: {units: 2, inputs: encoder/state_h}").empty());
  CHECK(error_of(kEncoder + ", Dense: {units: 2, inputs: encoder/output}").empty());
  const Graph graph = build(model_of(kEncoder + ", Dense: {units: 7}") +
                            "  outputs: [dense, encoder/state_c, encoder]\n");
  CHECK(graph.type(output_value(graph, "dense/prediction")).shape == Shape{4, 7});
  CHECK(graph.type(output_value(graph, "encoder_state_c/prediction")).shape == Shape{4, 3});
  CHECK(graph.type(output_value(graph, "encoder/prediction")).shape == Shape{4, 3});
}

TEST_CASE("states of a block's layers are given on, and handed in") {
  const std::string blocks =
      "blocks:\n"
      "  reader: {output: r/state_c, layers: [LSTM: {name: r, units: 3, return_state: true}]}\n"
      "  writer: {inputs: [x, state], layers: [GRU: {units: 3, inputs: [x, state]}]}\n";
  CHECK(error_of("reader, writer: {inputs: [input, reader]}", blocks).empty());
  CHECK(error_of(kEncoder + ", writer: {inputs: [input, encoder/state_h]}", blocks).empty());
  CHECK(error_of("reader, Dense: {units: 1, inputs: reader/state_h}", blocks) ==
        "c.yaml:3:46: Dense: 'reader' is a block, and has one output, not "
        "'state_h'; give the block output: <layer>/state_h");
}

TEST_CASE("what `if` leaves out stands for a state, too") {
  const std::string left_out = "Dense: {name: d, units: 3, if: false, inputs: encoder/state_h}";
  CHECK(error_of(kEncoder + ", " + left_out + ", " + decoder("GRU", "d")).empty());
  CHECK(error_of(kEncoder + ", " + left_out).empty());
}

TEST_CASE("a layer around two gives the states of both, and takes them") {
  const std::string both =
      "Bidirectional: {name: b, layer: {LSTM: {units: 3, return_state: true}}}";
  const Graph graph = build(model_of(
      both +
      ", Bidirectional: {layer: {GRU: {units: 3}}, inputs: [input, b/forward_c, b/backward_h]}"));
  CHECK(shape_of(graph, "b/output") == Shape{4, 6});
  for (const std::string name : {"forward_h", "forward_c", "backward_h", "backward_c"}) {
    CHECK(shape_of(graph, "b/" + name) == Shape{4, 3});
  }
  CHECK(behind(both, "Bidirectional: {layer: {GRU: {units: 3}}, inputs: [input, b/forward_c]}") ==
        "layer 'bidirectional' (Bidirectional): initial_state has 1 value; give those of the "
        "layer, then those of the one that goes backwards");
  CHECK(error_of("Bidirectional: {layer: {GRU: {units: 3, return_state: true}}, backward_layer: "
                 "{GRU: {units: 3, go_backwards: true}}}")
            .ends_with("layer and backward_layer need the same return_state"));
}

TEST_CASE("an output that is not there is an error that lists those that are") {
  CHECK(
      behind(kEncoder, "Dense: {units: 1, inputs: encoder/state_x}") ==
      "layer 'dense' (Dense): layer 'encoder' (LSTM) has no output 'state_x'; nearest: 'state_h', "
      "'state_c'");
  CHECK(behind(kEncoder, "Dense: {units: 1, inputs: encoder/cells}") ==
        "layer 'dense' (Dense): layer 'encoder' (LSTM) has no output 'cells'; known: 'output', "
        "'state_h', 'state_c'");
  CHECK(behind("LSTM: {name: encoder, units: 3}", "Dense: {units: 1, inputs: encoder/state_h}") ==
        "layer 'dense' (Dense): layer 'encoder' (LSTM) has no output 'state_h', which "
        "'return_state: false' leaves out; known: 'output'");
  const std::string way_out = "; write the name of the layer alone for its 'output'";
  for (const char* use_bias : {"true", "false"}) {
    CHECK(behind(fmt::format("Dense: {{name: d, units: 3, use_bias: {}}}", use_bias),
                 "Dense: {units: 1, inputs: d/bias}") ==
          "layer 'dense' (Dense): layer 'd' (Dense) has no output 'bias', which is a variable; "
          "known: 'output'" +
              way_out);
  }
  CHECK(behind(kEncoder, "Dense: {units: 1, inputs: encoder/lstm_cell/bias}") ==
        "layer 'dense' (Dense): layer 'encoder' (LSTM) has no output 'lstm_cell/bias', which is a "
        "variable; known: 'output', 'state_h', 'state_c'" +
            way_out);
  CHECK(behind(kEncoder, "Dense: {units: 1, inputs: input/state_h}") ==
        "Dense: 'input' is an input, and has one output, not 'state_h'");
  CHECK(behind(kEncoder, "Dense: {units: 1, inputs: encodr/state_h}") ==
        "Dense: no input or layer 'encodr' stands before it; nearest: 'encoder'");
  CHECK(error_of(kEncoder + ", Dense: {units: 1}", "  outputs: [dense, dense/state_h]\n") ==
        "c.yaml:4:20: outputs: layer 'dense' (Dense) has no output 'state_h'; known: 'output'");
}

TEST_CASE("an initial state is as many values as the cell has states, and as wide") {
  const std::string at = "layer 'decoder' (LSTM): ";
  CHECK(behind(kEncoder, decoder("LSTM", "encoder/state_h")) ==
        at + "initial_state has 1 value; it takes 2: [h, c]");
  CHECK(behind(kEncoder, decoder("GRU", kStates)) ==
        "layer 'decoder' (GRU): initial_state has 2 values; it takes 1: [h]");
  CHECK(behind(kEncoder, decoder("LSTM", kStates, 4)) ==
        at + "initial_state: h has samples [3]; with units: 4 they have to be [4]");
  CHECK(behind(kEncoder, decoder("LSTM", "[encoder/state_h, input]")) ==
        at + "initial_state: c has samples [5, 2]; with units: 3 they have to be [3]");
  CHECK(behind(kEncoder, decoder("LSTM", "[]")) ==
        at + "initial_state is empty; name a layer, or leave it out");
  CHECK(behind(kEncoder, "LSTM: {units: 3, inputs: {sequences: [input, encoder]}}") ==
        "layer 'lstm' (LSTM) takes one 'sequences', not a list");
  CHECK(behind(kEncoder, "LSTM: {units: 3, inputs: {initial_state: [encoder, encoder]}}") ==
        "layer 'lstm' (LSTM) needs an input 'sequences'");
}

TEST_CASE("a layer within another gives no states") {
  CHECK(build_error("model: {input: [4, 5, 2], layers: [TimeDistributed: {layer: {GRU: {units: 2, "
                    "return_state: true}}}]}\n")
            .ends_with("'gru' (GRU): within this layer it gives one output; leave return_state "
                       "out"));
}

TEST_CASE("states are laid out by their paths") {
  const std::string layers =
      "LSTM: {name: encoder, units: 3, return_state: true, state_c_layout: [data, null]}, " +
      decoder("LSTM", kStates);
  CHECK(error_of(layers, "mesh: {data: 2}\n").empty());
  CHECK(error_of("LSTM: {name: r, units: 3, state_c_layout: [data, null]}", "mesh: {data: 2}\n")
            .empty());
  CHECK(error_of("GRU: {name: r, units: 3, return_state: true, state_c_layout: [data, null]}",
                 "mesh: {data: 2}\n")
            .ends_with("layer 'r' (GRU) has no variable 'state_c' to be laid out; nearest: "
                       "'state_h'"));
}

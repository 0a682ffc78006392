#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork;
using namespace meshwork::config;
using Names = std::vector<std::string>;

TEST_CASE("layers come as names, with and without arguments") {
  const ModelSpec model = parse(R"(
model:
  input: [28, 28, 1]
  layers:
    - Flatten
    - Flatten:
    - Dense: {name: d1, units: 10}
    - Dense:
        units: 4
        name: "1"
)")
                              .model;
  REQUIRE(model.inputs.size() == 1);
  CHECK(model.inputs[0].name == "input");
  CHECK(model.inputs[0].shape == Shape{28, 28, 1});
  REQUIRE(model.layers.size() == 4);
  CHECK(model.layers[0].layer.name == "Flatten");
  CHECK(model.layers[0].layer.args.is_null());
  CHECK(model.layers[1].layer.args.is_null());
  CHECK(model.layers[0].name == "flatten");
  CHECK(model.layers[1].name == "flatten_1");
  CHECK(model.layers[2].name == "d1");
  CHECK(to_string(model.layers[2].inputs) == "flatten_1");
  CHECK(model.layers[2].layer.args.keys() == Names{"units"});
  CHECK(to_string(model.layers[2].at) == "c.yaml:7:7");
  CHECK(model.layers[3].name == "1");
}

TEST_CASE("shapes of samples") {
  CHECK(parse("model: {input: 784, layers: [Flatten]}").model.inputs[0].shape == Shape{784});
  CHECK(parse("model: {input: [], layers: [Flatten]}").model.inputs[0].shape.empty());
}

TEST_CASE("named inputs and layers make a graph") {
  const ModelSpec model = parse(R"(
model:
  inputs: {left: [3], right: [5]}
  layers:
    - Dense: {name: a, units: 2, inputs: left}
    - Dense: {name: b, units: 2, inputs: [right]}
    - Add: {inputs: [a, b]}
    - Flatten
)")
                              .model;
  REQUIRE(model.inputs.size() == 2);
  CHECK(model.inputs[1].name == "right");
  CHECK(model.inputs[1].shape == Shape{5});
  CHECK(to_string(model.layers[0].inputs) == "left");
  CHECK(to_string(model.layers[1].inputs) == "right");
  CHECK(to_string(model.layers[2].inputs) == "a, b");
  CHECK(model.layers[2].layer.args.keys().empty());
  CHECK(to_string(model.layers[3].inputs) == "add");
}

TEST_CASE("a layer names one of several outputs of another") {
  const ModelSpec model = parse(R"(
model:
  input: [5, 3]
  layers:
    - LSTM: {name: read, units: 2, return_state: true}
    - Dense: {name: "a.b", units: 2, inputs: read/output}
    - LSTM: {units: 2, inputs: {sequences: input, initial_state: [read/state_h, a.b]}}
  outputs: [lstm, read/state_c]
)")
                              .model;
  CHECK(to_string(model.layers[1].inputs) == "read");
  CHECK(to_string(model.layers[2].inputs) == "input, read/state_h, a.b");
  CHECK(model.layers[2].roles == Names{"sequences", "initial_state", "initial_state"});
  CHECK(model.outputs[1].name == "read_state_c");
  CHECK(model.outputs[1].from == LayerOutput{"read", "state_c"});
}

TEST_CASE("an input as Keras's get_config() says it") {
  const ModelSpec model = parse(R"(
model:
  layers:
    - InputLayer: {batch_shape: [null, 28, 28, 1], dtype: float32, sparse: false, name: digits}
    - Flatten
)")
                              .model;
  REQUIRE(model.inputs.size() == 1);
  CHECK(model.inputs[0].name == "digits");
  CHECK(model.inputs[0].shape == Shape{28, 28, 1});
}

TEST_CASE("Input layers stand in the list") {
  const ModelSpec model = parse(R"(
model:
  layers:
    - Input: {shape: [3], name: left}
    - Dense: {name: a, units: 2}
    - Dense: {name: a2, units: 2}
    - Input: {shape: [5], name: right}
    - Dense: {name: b, units: 2}
    - Add: {inputs: [a2, b]}
)")
                              .model;
  REQUIRE(model.inputs.size() == 2);
  CHECK(model.inputs[0].name == "left");
  REQUIRE(model.layers.size() == 4);
  CHECK(to_string(model.layers[0].inputs) == "left");
  CHECK(to_string(model.layers[1].inputs) == "a");
  CHECK(to_string(model.layers[2].inputs) == "right");
}

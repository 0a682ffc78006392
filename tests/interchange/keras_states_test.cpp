// config.json of layers that give several outputs, or take a list of states.
#include <doctest/doctest.h>

#include <string>

#include "interchange/written_model.h"
#include "state/keras_names.h"

using namespace meshwork;
using namespace meshwork::written;

TEST_CASE("states are further outputs of a layer, and an argument of a call") {
  const std::string text = R"(
model:
  input: [5, 3]
  layers:
    - LSTM: {name: read, units: 4, return_state: true}
    - Bidirectional: {name: both, layer: {LSTM: {units: 4, return_state: true}}, inputs: input}
    - LSTM: {name: write, units: 4, inputs: {sequences: input, initial_state: [read/state_h, both/backward_c]}}
    - RepeatVector: {name: long, n: 5, inputs: both}
    - GRU: {name: on, units: 4, inputs: [long, read]}
    - Add: {name: sum, inputs: [write, on]}
  outputs: [sum, read/state_c]
)";
  const Json model = config_of(text);
  const auto state = [&](const char* name, std::size_t i) {
    const Json& states =
        layer(model, name).at("inbound_nodes").at(0).at("kwargs").at("initial_state");
    return states.at(i).at("config");
  };
  CHECK(taken(layer(model, "write"), 0, 0) == Json({"input", 0, 0}));
  CHECK(state("write", 0).at("keras_history") == Json({"read", 0, 1}));
  CHECK(state("write", 1).at("keras_history") == Json({"both", 0, 4}));
  CHECK(state("write", 1).at("shape") == Json({nullptr, 4}));
  CHECK(state("on", 0).at("keras_history") == Json({"read", 0, 0}));
  CHECK(layer(model, "read").at("config").at("return_state") == true);
  CHECK(model.at("config").at("output_layers") == Json({{"sum", 0, 0}, {"read", 0, 2}}));
}

TEST_CASE("a mask beside an initial state is more than Keras reads") {
  const std::string error = error_of(R"(
model:
  input: [5, 3]
  layers:
    - Masking: {name: mask}
    - GRU: {name: read, units: 4, return_state: true}
    - GRU: {name: write, units: 4, inputs: [mask, read/state_h]}
)");
  CHECK(error ==
        "2: c.yaml:7:7: 'write' takes a sequence with a mask and an initial_state; what a .keras "
        "file says of them Keras would read without the mask; export a .weights.h5, which holds "
        "the weights alone");
}

TEST_CASE("further outputs of a layer stand under its own path, each once") {
  Graph graph;
  for (const char* name : {"x/output", "a/output", "a/state_h", "a/state_c", "a/b/output",
                           "a/b/state_h", "a/output", "a/state_h", "a/state_c", "prediction"}) {
    graph.layer_outputs.push_back({name, static_cast<ValueId>(graph.layer_outputs.size())});
  }
  const FurtherOutputs further(graph);
  REQUIRE(further.of("a").size() == 2);
  CHECK(further.of("a")[0].name == "state_h");
  CHECK(further.of("a")[0].value == 2);
  CHECK(further.of("a")[1].name == "state_c");
  REQUIRE(further.of("a/b").size() == 1);
  CHECK(further.of("a/b")[0].value == 5);
  CHECK(further.of("x").empty());
  CHECK(further.of("").empty());
}

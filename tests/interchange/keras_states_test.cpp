// config.json of layers that give several outputs, or take a list of states.
#include "interchange/keras_config.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "interchange/keras_model.h"
#include "state/keras_names.h"
#include "support/errors.h"

using namespace meshwork;

namespace {

using Json = nlohmann::json;

Json config_of(const std::string& text) {
  const config::Config config = config::parse_config(text, "c.yaml", {});
  return Json::parse(keras_config(config, predicting_program(config)));
}

std::string error_of(const std::string& text) {
  return test::error_of([&] { config_of(text); });
}

const Json& layer(const Json& model, std::string_view name) {
  for (const Json& candidate : model.at("config").at("layers")) {
    if (candidate.at("name") == name) return candidate;
  }
  throw std::invalid_argument(std::string(name));
}

/// Layer and use whose output is the argument `i` of a use.
Json taken(const Json& layer, std::size_t use, std::size_t i) {
  const Json& argument = layer.at("inbound_nodes").at(use).at("args").at(0);
  const Json& tensor = argument.is_array() ? argument.at(i) : argument;
  CHECK(tensor.at("class_name") == "__keras_tensor__");
  return tensor.at("config").at("keras_history");
}

}  // namespace

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

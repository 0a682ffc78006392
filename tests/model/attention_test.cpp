// Arguments of Attention and AdditiveAttention; their numbers: keras_calls_test.cpp
#include <doctest/doctest.h>

#include "model/build.h"

using namespace meshwork;

namespace {

const std::string kTwo =
    "model: {input: [5, 3], layers: [Dense: {name: q, units: 4}, "
    "Dense: {name: v, units: 4, inputs: input}, ";

std::vector<std::string> paths_of(const std::string& layer) {
  return variable_paths(build("model: {input: [5, 3], layers: [" + layer + "]}"));
}

}  // namespace

TEST_CASE("attention has Keras's variables") {
  CHECK(paths_of("Attention: {name: a, inputs: [input, input]}").empty());
  CHECK(paths_of("Attention: {name: a, use_scale: true, score_mode: concat, inputs: [input, "
                 "input]}") == std::vector<std::string>{"a/scale", "a/concat_score_weight"});
  CHECK(paths_of("AdditiveAttention: {name: a, inputs: [input, input]}") ==
        std::vector<std::string>{"a/scale"});
  const Graph graph = build(kTwo + "AdditiveAttention: {name: a, inputs: [q, v]}]}");
  CHECK(graph.type(graph.variables.back().value).shape == Shape{4});
}

TEST_CASE("attention has the steps of the query and the features of the value") {
  const Graph graph = build(
      "model: {input: [5, 3], layers: [Conv1D: {name: q, filters: 4, kernel_size: 2}, "
      "Dense: {name: k, units: 4, inputs: input}, Attention: {inputs: [q, input, k]}]}");
  CHECK(graph.type(output_value(graph, "prediction")).shape == Shape{4, 4, 3});
}

TEST_CASE("inputs that attention cannot take say what does not fit") {
  CHECK(
      build_error("model:\n  input: [5, 3]\n  layers: [Attention]\n").starts_with("c.yaml:3:12: "));
  CHECK(build_error("model:\n  input: [5]\n  layers: [Attention: {inputs: [input, input]}]\n") ==
        "c.yaml:3:23: layer 'attention' (Attention) needs samples [steps, features], but an input "
        "has [5]");
  CHECK(build_error("model:\n  input: [5, 3]\n  layers: [Dense: {name: q, units: 4}, Attention: "
                    "{inputs: [q, input]}]\n") ==
        "c.yaml:3:51: layer 'attention' (Attention): query and key have 4 and 3 features; give "
        "them as many");
  CHECK(build_error("model:\n  input: [5, 3]\n  layers: [Conv1D: {name: k, filters: 3, "
                    "kernel_size: 2}, Attention: {inputs: [input, input, k]}]\n") ==
        "c.yaml:3:70: layer 'attention' (Attention): value and key have 5 and 4 steps; give them "
        "as many");
  CHECK(build_error("model:\n  input: [5, 3]\n  layers: [Attention: {inputs: [input, input], "
                    "score_mode: dots}]\n") ==
        "c.yaml:3:60: layer 'attention' (Attention): score_mode 'dots' is unknown; nearest: 'dot'");
}

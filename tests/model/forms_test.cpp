// Blocks, shared and frozen layers, layouts of layers, several outputs: what graph they give.
#include <doctest/doctest.h>

#include "base/error.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "model/build.h"
#include "ops/ops.h"

using namespace meshwork;
using Names = std::vector<std::string>;

namespace {

Names layer_outputs(const Graph& graph) {
  Names names;
  for (const NamedValue& output : graph.layer_outputs) names.push_back(output.name);
  return names;
}

Names output_names(const Graph& graph) {
  Names names;
  for (const NamedValue& output : graph.outputs) names.push_back(output.name);
  return names;
}

Names frozen(const std::string& text) {
  Names names;
  for (const Variable& variable : build(text).variables) {
    if (!variable.trainable) names.push_back(variable.path);
  }
  return names;
}

/// The text of a graph with other names: what is left must not depend on them.
std::string renamed(std::string text, const std::vector<std::pair<std::string, std::string>>& to) {
  for (const auto& [from, name] : to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + name.size())) {
      text.replace(at, from.size(), name);
    }
  }
  return text;
}

/// Without the keys of random streams, which follow from the paths.
std::string without_keys(std::string text) {
  for (std::size_t at = text.find("key="); at != std::string::npos;
       at = text.find("key=", at + 4)) {
    const std::size_t end = text.find_first_of(",}", at);
    text.erase(at + 4, end - at - 4);
  }
  return text;
}

/// The graph without the outputs of blocks, which nothing but their name adds.
std::string text_of(Graph graph, const Names& blocks) {
  std::erase_if(graph.layer_outputs, [&](const NamedValue& output) {
    return std::find(blocks.begin(), blocks.end(), output.name) != blocks.end();
  });
  return print(graph);
}

const std::string kFrozen = R"(
blocks:
  stem: {layers: [{Dense: {units: 3, name: d}}, {Dense: {units: 3, name: e}}]}
model:
  input: [3]
  layers: [stem, stem, {Dense: {units: 2, name: head}}]
  freeze: )";

std::string freeze_error(const std::string& rules) { return build_error(kFrozen + rules); }

}  // namespace

TEST_CASE("a block gives the graph of the layers written by hand") {
  const std::string head = R"(
blocks:
  residual:
    params: {units: 8, project: false, rate: 0.25}
    layers:
      - Dense: {name: up, units: $(units * 2), activation: relu}
      - Dropout: {name: drop, rate: $rate}
      - Dense: {name: down, units: $units}
      - Dense: {name: skip, units: $units, inputs: input, if: $project}
      - Add: {name: sum, inputs: [down, skip]}
)";
  const std::string blocks = head + R"(
model:
  input: [5]
  layers:
    - residual: {name: r, units: 4, project: $(index == 0), repeat: 2}
    - Dense: {name: out, units: 1}
compile: {loss: mse}
)";
  const std::string by_hand = R"(
model:
  input: [5]
  layers:
    - Dense: {name: r0.up, units: 8, activation: relu}
    - Dropout: {name: r0.drop, rate: 0.25}
    - Dense: {name: r0.down, units: 4}
    - Dense: {name: r0.skip, units: 4, inputs: input}
    - Add: {name: r0.sum, inputs: [r0.down, r0.skip]}
    - Dense: {name: r1.up, units: 8, activation: relu}
    - Dropout: {name: r1.drop, rate: 0.25}
    - Dense: {name: r1.down, units: 4}
    - Add: {name: r1.sum, inputs: [r1.down, r0.sum]}
    - Dense: {name: out, units: 1}
compile: {loss: mse}
)";
  const std::vector<Field> label = {{"y", DType::kFloat32, {1}}};
  for (const Mode mode : {Mode::kTrain, Mode::kEvaluate, Mode::kPredict}) {
    const std::string left = text_of(build(blocks, mode, 4, label), {"r/output", "r_1/output"});
    const std::string right = print(build(by_hand, mode, 4, label));
    CHECK(without_keys(left) == without_keys(renamed(right, {{"r0.", "r/"}, {"r1.", "r_1/"}})));
  }
}

TEST_CASE("paths of outputs nest, that of a block last") {
  const Graph graph = build(kFrozen + "[]");
  CHECK(layer_outputs(graph) == Names{"input/output", "stem/d/output", "stem/e/output",
                                      "stem/output", "stem_1/d/output", "stem_1/e/output",
                                      "stem_1/output", "head/output", "prediction"});
  CHECK(graph.layer_outputs[2].value == graph.layer_outputs[3].value);
  CHECK(variable_paths(graph)[4] == "stem_1/d/kernel");
}

TEST_CASE("an error in a layer of a block names its use") {
  CHECK(build_error(R"(
blocks:
  b: {params: [units], layers: [Dense: {units: $units}]}
  c: {layers: [b: {units: 0}]}
model: {input: [3], layers: [c]}
)") == "c.yaml:3:48: layer 'c/b/dense' (Dense): units is 0; give 1 or more (in block 'b', used at "
       "c.yaml:4:16) (in block 'c', used at c.yaml:5:30)");
  CHECK(
      build_error("blocks: {b: {layers: [Dens: {units: 1}]}}\nmodel: {input: [3], layers: [b]}") ==
      "c.yaml:1:23: there is no layer 'Dens'; nearest: 'Dense' (in block 'b', used at "
      "c.yaml:2:30)");
}

TEST_CASE("a shared layer has its variables once, and its output twice under one path") {
  const Graph graph = build(R"(
model:
  inputs: {left: [3], right: [3]}
  layers:
    - Dense: {name: d, units: 2, inputs: left}
    - use: {layer: d, inputs: right}
    - Add: {inputs: [d, d_1]}
)");
  CHECK(variable_paths(graph) == Names{"d/kernel", "d/bias"});
  CHECK(layer_outputs(graph) ==
        Names{"left/output", "right/output", "d/output", "d/output", "add/output", "prediction"});
  CHECK(graph.layer_outputs[2].value != graph.layer_outputs[3].value);
}

TEST_CASE("a shared layer draws other random numbers for every use") {
  const Graph graph = build(R"(
model:
  input: [3]
  layers: [{Dropout: {name: a, rate: 0.5}}, use: a, {Dense: {units: 1}}]
compile: {loss: mse}
)",
                            Mode::kTrain, 4, {{"y", DType::kFloat32, {1}}});
  std::vector<std::int64_t> keys;
  for (const Node& node : graph.nodes) {
    if (node.op == &ops::kRandomUniform) keys.push_back(node.attrs.integer("key"));
  }
  REQUIRE(keys.size() == 2);
  CHECK(keys[0] != keys[1]);
}

TEST_CASE("a shared layer for inputs of two shapes is an error") {
  CHECK(build_error(R"(
model:
  inputs: {left: [3], right: [5]}
  layers:
    - Dense: {name: d, units: 2, inputs: left}
    - use: {layer: d, inputs: right}
    - Add: {inputs: [d, d_1]}
)") == "c.yaml:6:7: 'd/kernel' is [3, 2], but would have to be [5, 2] for this use of the layer; "
       "give all its uses inputs of one shape");
}

TEST_CASE("freeze takes layers, blocks and variables") {
  const Names first = {"stem/d/kernel", "stem/d/bias", "stem/e/kernel", "stem/e/bias"};
  CHECK(frozen(kFrozen + "[]").empty());
  CHECK(frozen(kFrozen + "stem") == first);
  CHECK(frozen(kFrozen + "stem/.*") == first);
  CHECK(frozen(kFrozen + "['stem/[de]']") == first);
  CHECK(frozen(kFrozen + "'stem.*'").size() == 8);
  CHECK(frozen(kFrozen + "[stem/d/bias, head]") ==
        Names{"stem/d/bias", "head/kernel", "head/bias"});
  CHECK(frozen(kFrozen + ".*/bias") ==
        Names{"stem/d/bias", "stem/e/bias", "stem_1/d/bias", "stem_1/e/bias", "head/bias"});
  CHECK(frozen(kFrozen + "'(?!head/).*'").size() == 10);
  CHECK(frozen(kFrozen + "'(?!head).*'").size() == 8);
}

TEST_CASE("a rule of freeze that hits nothing, or is no regex, is an error") {
  CHECK(freeze_error("[stem, hed]") ==
        "c.yaml:7:18: freeze: 'hed' matches no layer and no variable; nearest: 'head'");
  CHECK(freeze_error("kernel") ==
        "c.yaml:7:11: freeze: 'kernel' matches no path; it would match a part of 'stem/d/kernel', "
        "'stem/e/kernel', 'stem_1/d/kernel' (Keras before 3.14 did that): write '.*kernel.*' if "
        "you mean it");
  CHECK(freeze_error("'stem\\.d'") ==
        "c.yaml:7:11: freeze: 'stem\\.d' matches no path; here '/' separates its parts, not '.': "
        "write 'stem/d'");
  CHECK(freeze_error("'(a'") ==
        "c.yaml:7:11: freeze: '(a' is not a regular expression: missing closing parenthesis at "
        "character 3");
}

TEST_CASE("a model of which nothing is trained cannot be fitted") {
  CHECK(frozen("model: {input: [3], layers: [{Dense: {units: 1, trainable: false}}]}") ==
        Names{"dense/kernel", "dense/bias"});
}

TEST_CASE("layouts are of variables that the layer has") {
  const auto error = [](const std::string& layout) {
    return build_error("mesh: {data: 1}\nmodel: {input: [3], layers: [Dense: {units: 2, " + layout +
                       "}]}");
  };
  CHECK(error("kernel_layout: [null, data], bias_layout: [data], output_layout: [data]").empty());
  CHECK(error("kernal_layout: [null, data]") ==
        "c.yaml:2:48: layer 'dense' (Dense) has no variable 'kernal' to be laid out; "
        "nearest: 'kernel'");
  CHECK(error("use_bias: false, bias_layout: [data]").empty());  // a note
}

TEST_CASE("several outputs have losses of their own, their weighted sum, and prefixed metrics") {
  const std::string text = R"(
model:
  input: [3]
  outputs: [digit, size]
  layers:
    - Dense: {name: digit, units: 4}
    - Dense: {name: size, units: 1, inputs: input}
compile:
  loss: {digit: {SparseCategoricalCrossentropy: {from_logits: true}}, size: mse}
  loss_weights: {size: 0.25}
  metrics: {digit: [accuracy], size: mae}
)";
  const config::Config config = config_of(text);
  const Signature signature{
      {{"x", DType::kFloat32, {3}}, {"digit", DType::kInt32, {}}, {"size", DType::kFloat32, {1}}},
      {}};
  const Graph graph = build_model(config, signature, Mode::kTrain, 4);
  verify(graph);
  CHECK(output_names(graph) == Names{"loss", "digit_loss/total", "digit_loss/count",
                                     "digit_accuracy/total", "digit_accuracy/count",
                                     "size_loss/total", "size_loss/count", "size_mae/total",
                                     "size_mae/count"});
  Names inputs;
  for (const Node& node : graph.nodes) {
    if (node.op == &ops::kInput) inputs.push_back(node.attrs.text("name"));
  }
  CHECK(inputs == Names{"x", "digit", "size"});
  const Graph predict = build_model(config, signature, Mode::kPredict, 4);
  CHECK(output_names(predict) == Names{"digit/prediction", "size/prediction"});
  CHECK(layer_outputs(predict) == Names{"input/output", "digit/output", "size/output"});
}

TEST_CASE("labels: by the name of the output, else y, else the field that is named") {
  const auto error = [](const std::string& compile, const Signature& signature) -> std::string {
    try {
      build_model(config_of("model: {input: [3], outputs: [a, b], layers: [Dense: {name: a, units: "
                            "3}, Dense: {name: b, units: 3}]}\ncompile: " +
                            compile),
                  signature, Mode::kTrain, 2);
    } catch (const Error& failure) {
      return failure.what();
    }
    return {};
  };
  const Field x{"x", DType::kFloat32, {3}}, a{"a", DType::kFloat32, {3}};
  const Field y{"y", DType::kFloat32, {3}}, z{"z", DType::kFloat32, {3}};
  CHECK(error("{loss: mse}", {{x, a}, y}).empty());
  CHECK(error("{loss: mse}", {{x}, y}).empty());
  CHECK(error("{loss: mse, labels: {b: z}}", {{x, a, z}, {}}).empty());
  CHECK(error("{loss: mse, labels: {a: x, b: x}}", {{x}, {}}).empty());
  CHECK(error("{loss: {a: mse}}", {{x, a}, {}}).empty());
  CHECK(error("{loss: mse}", {{x, a}, {}}) ==
        "c.yaml:2:17: loss mse needs labels for output 'b', and the dataset has neither a field of "
        "that name nor 'y'; known: 'x', 'a'; name one in compile: labels: {b: ..}");
  CHECK(error("{loss: mse, labels: {b: aa}}", {{x, a}, {}}) ==
        "c.yaml:2:34: labels: the dataset has no field 'aa'; nearest: 'a'");
  CHECK(error("{loss: mse, labels: {b: nope}}", {{x, a}, y}) ==
        "c.yaml:2:34: labels: the dataset has no field 'nope'; known: 'y', 'x', 'a'");
  CHECK(error("{loss: mse, metrics: {a: {mae: {name: loss}}}}", {{x}, y}) ==
        "c.yaml:2:36: metric mae: the name 'loss' is taken; give it another 'name'");
}

TEST_CASE("names in the logs are unique over all outputs") {
  CHECK(build_error(R"(
model:
  input: [3]
  outputs: [a, a_b]
  layers: [Dense: {name: a, units: 3}, Dense: {name: a_b, units: 3}]
compile: {loss: mse, metrics: {a: {mae: {name: b_mae}}, a_b: mae}}
)",
                    Mode::kTrain, {{"y", DType::kFloat32, {3}}}) ==
        "c.yaml:6:62: metric mae: 'a_b_mae' is logged for what stands at c.yaml:6:36 already; give "
        "it another 'name'");
}

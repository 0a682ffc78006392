// Layouts of layers beside the layout map, and of the data behind the inputs of the model.
#include <doctest/doctest.h>

#include "base/error.h"
#include "graph/op_def.h"
#include "model/model.h"
#include "ops/ops.h"
#include "optim/optimizer.h"
#include "sharding/layout_map.h"

using namespace meshwork;

namespace {

const Mesh kMesh{{"data", "height", "width"}, {2, 3, 2}};

struct Built {
  config::Config config;
  Graph graph;
  PinnedLayouts pinned;
  std::vector<std::string> notes;
};

Built pin(const std::string& text, const Field& x = {"x", DType::kFloat32, {4}}) {
  Built built;
  built.config =
      config::parse_config("mesh: {data: 2, height: 3, width: 2}\n" + text, "c.yaml", {});
  ModelFacts facts;
  built.graph = build_model(built.config, {{x}, {}}, Mode::kPredict, 12, &facts);
  built.notes = check_rules_hit(built.graph, built.config, facts.absent);
  built.pinned = pin_layouts(built.graph, built.config, kMesh);
  return built;
}

std::string complaint(const std::string& text) {
  try {
    pin(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

std::string of_variable(const Built& built, const std::string& path) {
  for (std::size_t i = 0; i < built.graph.variables.size(); ++i) {
    if (built.graph.variables[i].path != path) continue;
    const LayoutMatch& match = built.pinned.variables[i];
    return to_string(match.layout, kMesh) + " by " + (match.rule ? match.rule->pattern : "none");
  }
  return "no variable";
}

std::string of_value(const Built& built, ValueId value) {
  for (const auto& [id, layout] : built.pinned.values) {
    if (id == value) return to_string(layout, kMesh);
  }
  return "free";
}

std::string of_output(const Built& built, const std::string& name) {
  for (const NamedValue& output : built.graph.layer_outputs) {
    if (output.name == name) return of_value(built, output.value);
  }
  return "no output";
}

/// The layout of the data, for an image as the dataset and as the model has it.
std::string raw(const std::string& key, const Shape& data, const std::string& model, DType dtype) {
  const Built built =
      pin("layout_map: {" + key + "}\nmodel: {input: " + model + ", layers: [ReLU]}",
          {"x", dtype, data});
  CHECK(built.graph.node(0).op->name == "input");
  return of_value(built, 0);
}

}  // namespace

TEST_CASE("a layer lays out its own variables and its output") {
  const Built built = pin(R"(
blocks:
  b: {params: [kernel], layers: [{Dense: {units: 6, kernel_layout: $kernel}}]}
model:
  input: [4]
  layers:
    - Dense: {name: d, units: 6, kernel_layout: [null, height], bias_layout: [[height, width]], output_layout: [data]}
    - b: {kernel: [width, null], output_layout: [null, width]}
    - use: {layer: d, name: again, if: false}
    - Dense: {name: e, units: 6}
)");
  CHECK(of_variable(built, "d/kernel") == "[null, height] by kernel_layout");
  CHECK(of_variable(built, "d/bias") == "[[height, width]] by bias_layout");
  CHECK(of_variable(built, "b/dense/kernel") == "[width, null] by kernel_layout");
  CHECK(of_variable(built, "b/dense/bias") == "[null] by none");
  CHECK(of_variable(built, "e/kernel") == "[null, null] by none");
  CHECK(of_output(built, "d/output") == "[data, null]");
  CHECK(of_output(built, "b/output") == "[null, width]");
  CHECK(of_output(built, "e/output") == "free");
}

TEST_CASE("a shared layer has one layout, and each of its outputs its own value") {
  const Built built = pin(R"(
model:
  input: [4]
  layers:
    - Dense: {name: d, units: 4, kernel_layout: [null, height], output_layout: [null, width]}
    - use: d
)");
  int pinned = 0;
  for (const NamedValue& output : built.graph.layer_outputs) {
    if (output.name != "d/output") continue;
    CHECK(of_value(built, output.value) == "[null, width]");
    ++pinned;
  }
  CHECK(pinned == 2);
  CHECK(built.pinned.variables.size() == 2);
}

TEST_CASE("a layout map and a layer that lay out one variable are an error with both places") {
  CHECK(
      complaint(R"(
layout_map:
  .*kernel: [data]
model: {input: [4], layers: [Dense: {name: d, units: 6, kernel_layout: [null, height]}]}
)") ==
      "c.yaml:5:57: kernel_layout: 'd/kernel' is laid out by layout_map: '.*kernel' at c.yaml:4:3, "
      "too; keep one of them");
  CHECK(complaint("layout_map: {d/output: [data]}\nmodel: {input: [4], layers: [Dense: {name: d, "
                  "units: 6, output_layout: [data]}]}") ==
        "c.yaml:3:57: output_layout: 'd/output' is laid out by layout_map: 'd/output' at "
        "c.yaml:2:14, too; keep one of them");
  CHECK(complaint("model: {input: [4], layers: [Dense: {name: d, units: 6, bias_layout: [data, "
                  "height]}]}") ==
        "c.yaml:2:57: bias_layout gives 2 entries [data, height] to 'd/bias', which has 1 "
        "dimension");
}

TEST_CASE("keys written for DTensor's dotted paths work") {
  const std::string model =
      "model: {input: [4], layers: [Dense: {name: feature_1, units: 6}, "
      "Dense: {name: d1, units: 3}]}";
  const Built built =
      pin("layout_map: {feature.*kernel: [null, height], d1.kernel: [width]}\n" + model);
  CHECK(of_variable(built, "feature_1/kernel") == "[null, height] by feature.*kernel");
  CHECK(of_variable(built, "d1/kernel") == "[width, null] by d1.kernel");
  CHECK(complaint("layout_map: {'d1\\.kernel': [width]}\n" + model) ==
        "c.yaml:2:14: layout_map: 'd1\\.kernel' matches no path; here '/' separates its parts, not "
        "'.': write 'd1/kernel'");
  // re.match took a prefix of the path; here the whole of it is meant.
  CHECK(complaint("layout_map: {d1.k: [width]}\n" + model)
            .find("'d1.k' matches no path; it would match a part of 'd1/kernel'") !=
        std::string::npos);
}

TEST_CASE("the data behind an input is laid out as the input") {
  const std::string key = "input/output: [data, height, width, null]";
  for (const DType dtype : {DType::kFloat32, DType::kUInt8}) {
    CHECK(raw(key, {6, 8, 3}, "[6, 8, 3]", dtype) == "[data, height, width, null]");
    // The last dimension of one, which the model adds or drops.
    CHECK(raw(key, {6, 8}, "[6, 8, 1]", dtype) == "[data, height, width]");
    CHECK(raw("input/output: [data, height, width]", {6, 8, 1}, "[6, 8]", dtype) ==
          "[data, height, width, null]");
  }
  CHECK(raw("input/output: [null, null, [height, width]]", {6, 8}, "[6, 8]", DType::kUInt8) ==
        "[null, null, [height, width]]");
  CHECK(raw("re_lu/output: [data, height]", {6, 8}, "[6, 8]", DType::kUInt8) ==
        "[data, null, null]");
}

TEST_CASE("rules and layers that lay out what arguments leave out are noted, typos refused") {
  const std::string model =
      "model: {input: [4], layers: [Dense: {name: d, units: 6, use_bias: false";
  CHECK(pin("layout_map: {d/kernel: [height], d/bias: [height]}\n" + model + "}]}").notes ==
        std::vector<std::string>{"c.yaml:2:34: layout_map: 'd/bias' lays out nothing: the model "
                                 "leaves out 'd/bias' (use_bias: false)"});
  CHECK(pin("optimizer_layout: {.*bias: [height]}\n" + model + "}]}").notes ==
        std::vector<std::string>{"c.yaml:2:20: optimizer_layout: '.*bias' lays out nothing: the "
                                 "model leaves out 'd/bias' (use_bias: false)"});
  CHECK(pin(model + ", bias_layout: [height]}]}").notes ==
        std::vector<std::string>{"c.yaml:2:74: bias_layout lays out nothing: the model leaves out "
                                 "'d/bias' (use_bias: false)"});
  CHECK(complaint("layout_map: {d/bais: [height]}\n" + model + "}]}") ==
        "c.yaml:2:14: layout_map: 'd/bais' matches no variable and no layer output; nearest: "
        "'d/bias'");
  CHECK(complaint("unmatched_rules: ignore\nlayout_map: {d/bais: [height]}\n" + model + "}]}") ==
        "");
}

TEST_CASE(
    "a slot of some dimensions of a weight is laid out as these, and gradients as a whole one") {
  const auto pin_state = [](const std::string& rules) {
    Built built =
        pin(rules +
                "model: {input: [6, 4], layers: [Conv1D: {name: c, filters: 6, "
                "kernel_size: 3, use_bias: false}]}\ncompile: {optimizer: Adafactor, loss: mse}",
            {"x", DType::kFloat32, {6, 4}});
    GraphBuilder b(built.graph);
    const TensorType type = built.graph.type(built.graph.variables.at(0).value);
    const ValueId gradient = ops::input(b, "gradient", type);
    add_optimizer(b, built.config.compile->optimizer,
                  std::vector<Update>{{built.graph.variables[0].value, gradient}});
    built.graph.gradients.push_back({built.graph.variables[0].value, gradient});
    built.pinned = pin_layouts(built.graph, built.config, kMesh);
    std::string text;
    for (const char* slot : {"r", "c", "velocity"}) {
      text += of_variable(built, "adafactor/c_kernel_" + std::string(slot)) + ", ";
    }
    return text + to_string(built.pinned.values.back().second, kMesh);
  };
  CHECK(pin_state("layout_map: {c/kernel: [height, null, width]}\n") ==
        "[height, null] by c/kernel, [height, width] by c/kernel, [height, null, width] by "
        "c/kernel, [height, null, width]");
  CHECK(pin_state("layout_map: {c/kernel: [height]}\noptimizer_layout: {.*: [null, data]}\n") ==
        "[null, data] by .*, [null, null] by .*, [null, data, null] by .*, [null, data, null]");
}

TEST_CASE("the state of a scalar stays whole, whatever optimizer_layout says of all") {
  Built built =
      pin("optimizer_layout: {.*: [data]}\nmodel: {input: [6, 4], layers: [Attention: {name: at, "
          "use_scale: true, inputs: [input, input]}]}\ncompile: {optimizer: Adam, loss: mse}",
          {"x", DType::kFloat32, {6, 4}});
  GraphBuilder b(built.graph);
  const TensorType type = built.graph.type(built.graph.variables.at(0).value);
  REQUIRE(type.shape.empty());
  const ValueId gradient = ops::input(b, "gradient", type);
  add_optimizer(b, built.config.compile->optimizer,
                std::vector<Update>{{built.graph.variables[0].value, gradient}});
  built.pinned = pin_layouts(built.graph, built.config, kMesh);
  CHECK(of_variable(built, "adam/at_scale_momentum") == "[] by none");
  const std::string attention =
      "model: {input: [6, 4], layers: [Attention: {name: at, use_scale: true, inputs: [input, "
      "input]}]}";
  CHECK_THROWS_WITH(pin("layout_map: {.*: [data]}\n" + attention, {"x", DType::kFloat32, {6, 4}}),
                    doctest::Contains("which has 0 dimensions"));
}

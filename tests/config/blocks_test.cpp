// The section `blocks`, and what a model that uses it is written out to.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config_text.h"

using namespace meshwork::config;
using Names = std::vector<std::string>;

namespace {

/// "name(inputs) Class" of every layer; "end" for the end of a block.
Names lines(const ModelSpec& model) {
  Names result;
  for (const LayerSpec& layer : model.layers) {
    const std::string what = layer.layer.name.empty() ? "end" : layer.layer.name;
    result.push_back(fmt::format("{}({}) {}", layer.name, to_string(layer.inputs), what));
  }
  return result;
}

Names written_out(const std::string& text) { return lines(parse(text).model); }

std::string argument(const ModelSpec& model, std::size_t layer, const std::string& key) {
  const Value::Entry* entry = model.layers.at(layer).layer.args.find(key);
  return entry == nullptr ? "none" : entry->value.scalar;
}

const std::string kResidual = R"(
blocks:
  residual:
    params: {units: 8, project: false}
    layers:
      - Dense: {units: $(units * 2)}
      - Dense: {units: $units}
      - Dense: {units: $units, inputs: input, name: shortcut, if: $project}
      - Add: {inputs: [dense_1, shortcut]}
)";

/// A model over the block above, whose layers stand from line 13 on.
std::string over_residual(const std::string& layers) {
  return kResidual + "model:\n  input: [4]\n  layers:\n    " + layers + "\n";
}

}  // namespace

TEST_CASE("a block is written out under its name, automatic names counted in it") {
  const ModelSpec model =
      parse(over_residual("- residual: {units: 4, project: true}\n    - residual\n    - ReLU"))
          .model;
  CHECK(lines(model) ==
        Names{"residual/dense(input) Dense", "residual/dense_1(residual/dense) Dense",
              "residual/shortcut(input) Dense",
              "residual/add(residual/dense_1, residual/shortcut) Add", "residual(residual/add) end",
              "residual_1/dense(residual) Dense", "residual_1/dense_1(residual_1/dense) Dense",
              "residual_1/add(residual_1/dense_1, residual) Add", "residual_1(residual_1/add) end",
              "re_lu(residual_1) ReLU"});
  CHECK(argument(model, 0, "units") == "8");
  CHECK(argument(model, 1, "units") == "4");
  CHECK(argument(model, 5, "units") == "16");
  CHECK(argument(model, 2, "if") == "none");
  CHECK(argument(model, 2, "name") == "none");
  for (const LayerSpec& layer : model.layers) CHECK(layer.path == layer.name);
  CHECK(model.outputs.size() == 1);
  CHECK(model.outputs[0].name == "re_lu");
}

TEST_CASE("CamelCase blocks are named as Keras names classes") {
  CHECK(written_out("blocks: {ResidualBlock: {layers: [ReLU]}}\n"
                    "model: {input: [4], layers: [ResidualBlock, ResidualBlock]}") ==
        Names{"residual_block/re_lu(input) ReLU", "residual_block(residual_block/re_lu) end",
              "residual_block_1/re_lu(residual_block) ReLU",
              "residual_block_1(residual_block_1/re_lu) end"});
}

TEST_CASE("a repeated layer takes the one before, and its name counts on") {
  CHECK(written_out("model: {input: [4], layers: [ReLU: {repeat: 3}]}") ==
        Names{"re_lu(input) ReLU", "re_lu_1(re_lu) ReLU", "re_lu_2(re_lu_1) ReLU"});
  CHECK(written_out("model: {input: [4], layers: [ReLU: {repeat: 2, name: a}]}") ==
        Names{"a(input) ReLU", "a_1(a) ReLU"});
  CHECK(written_out("model: {input: [4], layers: [ReLU: {repeat: 2, name: a$index}, ReLU]}") ==
        Names{"a0(input) ReLU", "a1(a0) ReLU", "re_lu(a1) ReLU"});
  CHECK(written_out("model: {input: [4], layers: [ReLU: {repeat: 0, name: a}, ReLU]}") ==
        Names{"re_lu(input) ReLU"});
  // Further inputs stay: the memory of a decoder.
  CHECK(written_out("model: {inputs: {x: [4], m: [4]}, layers: "
                    "[Add: {repeat: 3, inputs: [x, m]}]}") ==
        Names{"add(x, m) Add", "add_1(add, m) Add", "add_2(add_1, m) Add"});
}

TEST_CASE("the number of a repetition is a parameter") {
  const ModelSpec model = parse(R"(
model:
  params: {depth: 3, widths: [16, 32, 64]}
  input: [4]
  layers:
    - Dense: {units: '$(widths[index] * (2 if index == 0 else 1))', repeat: $depth}
)")
                              .model;
  REQUIRE(model.layers.size() == 3);
  CHECK(argument(model, 0, "units") == "32");
  CHECK(argument(model, 1, "units") == "32");
  CHECK(argument(model, 2, "units") == "64");
  CHECK(argument(model, 2, "repeat") == "none");
}

TEST_CASE("the command line changes parameters of the model and defaults of blocks") {
  const std::string text = R"(
blocks:
  wide: {params: {units: 8}, layers: [{Dense: {name: d, units: $units}}]}
  flat: {params: [units], layers: [ReLU]}
model:
  params: {depth: 2, kind: wide, width: 8}
  input: [$width]
  layers:
    - $kind: {units: $(width + 1), repeat: $depth, name: stage}
)";
  const Config base = parse(text);
  CHECK(lines(base.model) == Names{"stage/d(input) Dense", "stage(stage/d) end",
                                   "stage_1/d(stage) Dense", "stage_1(stage_1/d) end"});
  CHECK(base.model.inputs[0].shape == meshwork::Shape{8});
  CHECK(argument(base.model, 0, "units") == "9");
  const Config deep = parse(text, {"model.params.depth=3", "model.params.kind=flat"});
  CHECK(lines(deep.model).size() == 6);
  CHECK(lines(deep.model)[4] == "stage_2/re_lu(stage_1) ReLU");
  CHECK(argument(parse(text, {"model.params.width=20"}).model, 0, "units") == "21");
  CHECK(argument(parse(text, {"blocks.wide.layers.d.units=$(units * 3)"}).model, 0, "units") ==
        "27");
  CHECK(argument(parse(text, {"model.layers.stage.units=5"}).model, 0, "units") == "5");
}

TEST_CASE("several inputs, an output that is not last, and blocks in blocks") {
  CHECK(written_out(R"(
blocks:
  merge:
    inputs: [left, right]
    output: sum
    layers:
      - Add: {name: sum, inputs: [left, right]}
  twice:
    layers:
      - ReLU: {name: a}
      - merge: {inputs: [a, input]}
      - merge: {inputs: [merge, merge]}
model:
  input: [4]
  layers: [twice: {name: t}]
)") == Names{"t/a(input) ReLU", "t/merge/sum(t/a, input) Add", "t/merge(t/merge/sum) end",
             "t/merge_1/sum(t/merge, t/merge) Add", "t/merge_1(t/merge_1/sum) end",
             "t(t/merge_1) end"});
}

TEST_CASE("a layer may be a parameter") {
  const std::string text = R"(
blocks:
  conv: {params: {norm: {ReLU: {negative_slope: 1}}, after: ReLU}, layers: [$norm, $after]}
model:
  input: [4]
  layers:
    - conv
    - conv: {norm: {Dense: {units: 3}}, after: Flatten}
)";
  const ModelSpec model = parse(text).model;
  CHECK(lines(model) == Names{"conv/re_lu(input) ReLU", "conv/re_lu_1(conv/re_lu) ReLU",
                              "conv(conv/re_lu_1) end", "conv_1/dense(conv) Dense",
                              "conv_1/flatten(conv_1/dense) Flatten",
                              "conv_1(conv_1/flatten) end"});
  CHECK(argument(model, 0, "negative_slope") == "1");
}

TEST_CASE("a block without layers gives its input on") {
  CHECK(written_out("blocks: {none: {params: {on: false}, layers: [ReLU: {if: $on}]}}\n"
                    "model: {input: [4], layers: [none, ReLU]}") ==
        Names{"none(input) end", "re_lu(none) ReLU"});
}

TEST_CASE("use gives layers and blocks other names and the same paths") {
  const ModelSpec model = parse(R"(
blocks:
  tower: {layers: [{Dense: {units: 3, kernel_layout: [null, data]}}, ReLU]}
model:
  inputs: {left: [4], right: [4]}
  layers:
    - Dense: {name: d, units: 2, inputs: left, trainable: false, kernel_layout: [null, data]}
    - use: {layer: d, inputs: right}
    - tower: {inputs: d}
    - use: {layer: tower, inputs: d_1, name: other}
    - use: other
    - Add: {inputs: [tower, other_1]}
)")
                              .model;
  CHECK(lines(model) == Names{"d(left) Dense", "d_1(right) Dense", "tower/dense(d) Dense",
                              "tower/re_lu(tower/dense) ReLU", "tower(tower/re_lu) end",
                              "other/dense(d_1) Dense", "other/re_lu(other/dense) ReLU",
                              "other(other/re_lu) end", "other_1/dense(other) Dense",
                              "other_1/re_lu(other_1/dense) ReLU", "other_1(other_1/re_lu) end",
                              "add(tower, other_1) Add"});
  Names paths;
  for (const LayerSpec& layer : model.layers) paths.push_back(layer.path);
  CHECK(paths == Names{"d", "d", "tower/dense", "tower/re_lu", "tower", "tower/dense",
                       "tower/re_lu", "tower", "tower/dense", "tower/re_lu", "tower", "add"});
  CHECK_FALSE(model.layers[1].trainable);
  CHECK(model.layers[1].layouts.empty());
  CHECK(argument(model, 1, "units") == "2");
}

TEST_CASE("one layer may be applied again and again") {
  CHECK(written_out("model: {input: [4], layers: [Dense: {name: d, units: 4}, "
                    "use: {layer: d, repeat: 2}]}") ==
        Names{"d(input) Dense", "d_1(d) Dense", "d_2(d_1) Dense"});
}

TEST_CASE("a block that is not trainable passes that on") {
  const ModelSpec model = parse(R"(
blocks:
  inner: {layers: [{Dense: {units: 2}}]}
  outer: {layers: [inner, {Dense: {units: 2, trainable: true}}]}
model: {input: [4], layers: [outer: {trainable: false}, outer]}
)")
                              .model;
  for (std::size_t i = 0; i < 4; ++i) CHECK_FALSE(model.layers[i].trainable);
  for (std::size_t i = 4; i < 8; ++i) CHECK(model.layers[i].trainable);
}

TEST_CASE("layouts of layers are read with their places") {
  const Config config = parse(R"(mesh: {data: 2, model: 2}
blocks:
  b: {params: {kernel_layout: [null, model]}, layers: [{Dense: {units: 2, kernel_layout: $kernel_layout}}]}
model:
  input: [4]
  layers:
    - Dense: {units: 2, bias_layout: [[data, model]], output_layout: [data], kernel_layout: null}
    - b
    - b: {kernel_layout: [model], output_layout: [data, model]}
)");
  CHECK(config.strategy == Strategy::kModelParallel);
  const auto& layers = config.model.layers;
  REQUIRE(layers[0].layouts.size() == 2);
  CHECK(layers[0].layouts[0].pattern == "bias");
  CHECK(layers[0].layouts[0].dims == std::vector<Names>{{"data", "model"}});
  CHECK(to_string(layers[0].layouts[0].at) == "c.yaml:7:25");
  CHECK(layers[0].layouts[1].pattern == "output");
  CHECK(layers[0].layer.args.keys() == Names{"units"});
  CHECK(layers[1].layouts[0].dims == std::vector<Names>{{}, {"model"}});
  CHECK(layers[3].layouts[0].dims == std::vector<Names>{{"model"}});
  CHECK(layers[4].layouts[0].pattern == "output");
  const std::string text = "model: {input: [4], layers: [Dense: {units: 2, kernel_layout: [x]}]}";
  CHECK(parse_error(text).find("Dense: kernel_layout: the mesh (data=-1) has no axis 'x'") !=
        std::string::npos);
  CHECK(parse_error("strategy: data_parallel\nmodel: {input: [4], layers: [Dense: {units: 2, "
                    "kernel_layout: [data]}]}") ==
        "c.yaml:1:11: strategy data_parallel takes no layouts, but a layer has its kernel_layout "
        "at c.yaml:2:48; remove it, or write model_parallel");
}

TEST_CASE("outputs name layers, in any order") {
  const ModelSpec model = parse(R"(
model:
  input: [4]
  outputs: [b, a]
  layers:
    - Dense: {name: a, units: 1}
    - Dense: {name: b, units: 2}
)")
                              .model;
  REQUIRE(model.outputs.size() == 2);
  CHECK(model.outputs[0].name == "b");
  CHECK(to_string(model.outputs[1].at) == "c.yaml:4:16");
  // What `if` leaves out stands for its input there, too.
  const ModelSpec aliased =
      parse(
          "model: {input: [4], outputs: head, layers: [Dense: {name: a, units: 1}, "
          "ReLU: {name: head, if: false}]}")
          .model;
  CHECK(aliased.outputs[0].name == "head");
  CHECK(aliased.outputs[0].from == LayerOutput{"a"});
}

TEST_CASE("what nothing takes is written out like all else: who knows layers refuses it") {
  CHECK(written_out("blocks: {b: {layers: [ReLU: {name: x}, ReLU: {inputs: input}]}}\n"
                    "model: {input: [4], layers: [b, Dense: {name: d}], outputs: [b]}") ==
        Names{"b/x(input) ReLU", "b/re_lu(input) ReLU", "b(b/re_lu) end", "d(b) Dense"});
}

TEST_CASE("errors in blocks name the place in the block and that of its use") {
  const auto error = [](const std::string& blocks, const std::string& layers) {
    return parse_error("blocks:\n" + blocks + "model:\n  input: [4]\n  layers: [" + layers + "]\n");
  };
  CHECK(error("  b: {layers: [{Dense: {inputs: inptu}}]}\n", "b") ==
        "c.yaml:2:33: Dense: no input or layer 'inptu' stands before it; nearest: 'input' (in "
        "block 'b', used at c.yaml:5:12)");
  CHECK(error("  b: {layers: [{Dense: {units: $n}}]}\n  c: {layers: [b]}\n", "c") ==
        "c.yaml:2:32: expression 'n': there is no parameter 'n' (in block 'b', used at "
        "c.yaml:3:16) (in block 'c', used at c.yaml:6:12)");
  CHECK(error("  b: {layers: [{Dense: {name: x}}, {Dense: {name: x}}]}\n", "b") ==
        "c.yaml:2:51: the name 'x' stands twice, first at c.yaml:2:31; rename one (in block 'b', "
        "used at c.yaml:5:12)");
  CHECK(error("  b: {layers: [ReLU]}\n", "TimeDistributed: {layer: b}") ==
        "c.yaml:5:37: 'b' is a block; a wrapper takes a layer: put one around each of the block's");
  CHECK(error("  b: {layers: [b]}\n", "b") ==
        "c.yaml:2:16: block 'b' contains itself; a block may only use others (in block 'b', used "
        "at c.yaml:5:12)");
  CHECK(error("  b: {layers: [c]}\n  c: {layers: [b]}\n", "b").find("'b' contains itself") !=
        std::string::npos);
  CHECK(error("  b: {layers: [Input: {shape: [3]}]}\n", "b") ==
        "c.yaml:2:16: Input cannot stand in a block; give the block inputs: [a, b], names of what "
        "it takes (in block 'b', used at c.yaml:5:12)");
  CHECK(error("  b: {inputs: [x, y], layers: [ReLU]}\n", "b: {inputs: [input, input]}") ==
        "c.yaml:2:32: ReLU is the first layer and the block 'b' has 2 inputs; say which with "
        "'inputs' (in block 'b', used at c.yaml:5:12)");
}

TEST_CASE("errors of the uses of blocks") {
  const auto error = [](const std::string& layers) { return parse_error(over_residual(layers)); };
  CHECK(error("- residual: {unit: 3}") ==
        "c.yaml:13:18: block 'residual' has no parameter 'unit'; nearest: 'units'");
  CHECK(error("- residual: {nam: 3}") ==
        "c.yaml:13:18: block 'residual' has no parameter 'nam'; nearest: 'name'");
  CHECK(error("- residual: {kernel_layout: [null, data]}")
            .find("block 'residual' has no parameter 'kernel_layout'") != std::string::npos);
  CHECK(error("- residual: {inputs: [input, input]}") ==
        "c.yaml:13:7: block 'residual' takes 1 input, not 2; see c.yaml:3:3");
  CHECK(error("- ReLU: {repeat: -1}") == "c.yaml:13:22: repeat is -1; give 0 or more");
  CHECK(error("- ReLU: {repeat: many}") == "c.yaml:13:22: repeat must be an integer, not 'many'");
  CHECK(error("- ReLU: {if: 1}") == "c.yaml:13:18: if must be true or false, not '1'");
  CHECK(error("- ReLU: {trainable: no}") ==
        "c.yaml:13:25: trainable must be true or false, not 'no'");
  CHECK(error("- ReLU: {name: $index}").find("there is no parameter 'index'") != std::string::npos);
  CHECK(error("- ReLU: {repeat: 1000000000000}").find("more than 10000 layers, with repetitions") !=
        std::string::npos);
  CHECK(error("- ReLU: {repeat: 1000000000000, if: false}")
            .find("more than 10000 layers, with repetitions") != std::string::npos);
  CHECK(error("- use: d1") ==
        "c.yaml:13:12: use: no input or layer 'd1' stands before it; known: 'input'");
  CHECK(error("- use: input") == "c.yaml:13:12: use: 'input' is an input, not a layer");
  CHECK(error("- ReLU: {name: a}\n    - use: {layer: a, output_layout: [data]}") ==
        "c.yaml:14:23: use: 'a' has its layouts where it stands first, at c.yaml:13:7");
  CHECK(error("- use: {name: x}") == "c.yaml:13:12: use needs the key 'layer'");
}

TEST_CASE("errors of the section blocks, used or not") {
  const auto error = [](const std::string& blocks) {
    return parse_error("blocks: " + blocks + "\nmodel: {input: [4], layers: [ReLU]}");
  };
  CHECK(error("[a]") == "c.yaml:1:9: blocks must be a map of names and blocks, not a list");
  CHECK(error("{b: {layer: []}}") ==
        "c.yaml:1:14: block 'b' has no key 'layer'; nearest: 'layers'");
  CHECK(error("{b: {params: {n: 1}}}") == "c.yaml:1:13: block 'b' needs the key 'layers'");
  CHECK(error("{b: {layers: ReLU}}") ==
        "c.yaml:1:22: block 'b': layers must be a list, not 'ReLU'");
  CHECK(error("{a/b: {layers: []}}") ==
        "c.yaml:1:10: a block cannot be called 'a/b'; give a name without '/' and '$'");
  CHECK(error("{use: {layers: []}}") ==
        "c.yaml:1:10: a block cannot be called 'use', which has a meaning of its own; rename it");
  CHECK(error("{b: {params: {name: 1}, layers: []}}") ==
        "c.yaml:1:23: block 'b': a parameter cannot be called 'name', a key that every block has; "
        "rename it");
  CHECK(error("{b: {params: [if], layers: []}}").find("cannot be called 'if'") !=
        std::string::npos);
  CHECK(error("{b: {params: {rematerialize: 1}, layers: []}}").find("'rematerialize', a key") !=
        std::string::npos);
  CHECK(error("{b: {params: {index: 1}, layers: []}}").find("cannot be called 'index'") !=
        std::string::npos);
  CHECK(error("{b: {params: {2x: 1}, layers: []}}") ==
        "c.yaml:1:23: block 'b': parameter '2x' must be of letters, digits and '_', and not begin "
        "with a digit");
  CHECK(error("{b: {inputs: [], layers: []}}") ==
        "c.yaml:1:22: block 'b': inputs is empty; name one or more");
  CHECK(parse_error("blocks: {b: {params: {n: , m: $(n + 1)}, layers: [ReLU]}}\n"
                    "model: {input: [4], layers: [b]}") ==
        "c.yaml:2:30: block 'b' needs the parameter 'n'; give it, or a default at c.yaml:1:23");
}

TEST_CASE("errors of outputs and parameters of the model") {
  const auto error = [](const std::string& keys) {
    return parse_error("model: {input: [4], layers: [Dense: {name: d, units: 2}], " + keys + "}");
  };
  CHECK(error("outputs: [e]") ==
        "c.yaml:1:69: outputs: no input or layer 'e' stands in the model; known: 'input', 'd'");
  CHECK(error("outputs: [d, d]") == "c.yaml:1:72: outputs names 'd' twice; remove one");
  CHECK(error("outputs: []") == "c.yaml:1:68: outputs is empty; name a layer, or leave it out");
  CHECK(error("params: [a]") ==
        "c.yaml:1:67: model: params must be a map of names and values, such as {depth: 3}, not a "
        "list");
  CHECK(error("freeze: [d, {a: b}]") == "c.yaml:1:71: freeze must be a word, not a map");
}

TEST_CASE("blocks stand in each other 64 deep, and not deeper") {
  const auto nest = [](int depth) {
    std::string text = "blocks:\n  b0: {layers: [ReLU]}\n";
    for (int i = 1; i < depth; ++i) text += fmt::format("  b{}: {{layers: [b{}]}}\n", i, i - 1);
    return text + fmt::format("model: {{input: [4], layers: [b{}]}}\n", depth - 1);
  };
  CHECK(parse(nest(64)).model.layers.size() == 65);
  CHECK(parse_error(nest(65)).find("more than 64 deep") != std::string::npos);
  CHECK(parse_error(nest(5000)).find("more than 64 deep") != std::string::npos);
}

#include "config/config.h"

#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;
using Axes = std::vector<std::pair<std::string, std::int64_t>>;
using Dims = std::vector<std::vector<std::string>>;

TEST_CASE("a small file gets the defaults of Keras") {
  const Config config = parse(kModel);
  CHECK(config.file == "c.yaml");
  CHECK(config.seed == 1337);
  CHECK(config.precision == Precision::kFloat32);
  CHECK(!config.tensor_float32);
  CHECK(config.device == DeviceKind::kCpu);
  CHECK(config.collectives == Collectives::kCanonical);
  CHECK(config.mesh.axes == Axes{{"data", -1}});
  CHECK(config.strategy == Strategy::kDataParallel);
  CHECK(config.batch_axis == std::vector<std::string>{"data"});
  CHECK(config.layout_map.empty());
  CHECK(!config.keep_gathered);
  CHECK(!config.max_replicated);
  CHECK(config.fusion.all);
  CHECK(config.fusion.choices.empty());
  CHECK(config.dataset.is_null());
  CHECK(!config.compile.has_value());
  CHECK(config.fit.batch_size == 32);
  CHECK(config.fit.epochs == 1);
  CHECK(!config.fit.validation);
  CHECK(config.fit.shuffle);
  CHECK(!config.fit.drop_remainder);
  CHECK(config.fit.prefetch == 2);
  CHECK(config.run_directory == "runs/c");
}

TEST_CASE("a GPU is cuda, or what Keras calls it") {
  CHECK(parse(kModel + "device: cuda\n").device == DeviceKind::kCuda);
  CHECK(parse(kModel + "device: gpu\n").device == DeviceKind::kCuda);
  CHECK(parse_config(kModel + "device: cpu\n", "c.yaml", {"", {}, "cuda"}).device ==
        DeviceKind::kCuda);
}

TEST_CASE("mixed_float16 scales losses, unless it is told not to or does so already") {
  const std::string adam = "compile: {loss: mse, optimizer: {Adam: {beta_1: 0.5}}";
  const Config config = parse(kModel + "precision: mixed_float16\n" + adam + "}");
  CHECK(config.precision == Precision::kMixedFloat16);
  CHECK(config.compile->optimizer.name == "LossScaleOptimizer");
  const Value& inner = config.compile->optimizer.args.find("inner_optimizer")->value;
  CHECK(read_class(inner, "optimizer").name == "Adam");
  CHECK(inner.find("Adam")->value.find("beta_1")->value.as_real("x") == 0.5);
  const auto name_of = [](const std::string& precision, const std::string& compile) {
    const std::string text = kModel + "precision: " + precision + "\ncompile: {loss: mse" + compile;
    return parse(text + "}").compile->optimizer.name;
  };
  CHECK(name_of("mixed_float16", "") == "LossScaleOptimizer");
  CHECK(name_of("mixed_float16", ", auto_scale_loss: false") == "rmsprop");
  CHECK(name_of("mixed_float16", ", optimizer: {lossscaleoptimizer: {inner_optimizer: sgd}}") ==
        "lossscaleoptimizer");
  CHECK(name_of("mixed_bfloat16", "") == "rmsprop");
  CHECK(name_of("float32", ", auto_scale_loss: true") == "rmsprop");
}

TEST_CASE("every key of the file arrives") {
  const Config config = parse(kModel + R"(
seed: 18446744073709551615
precision: mixed_bfloat16
tensor_float_32: true
device: auto
collectives: nccl
mesh: {data: 2, model: -1, pipe: 3}
strategy: model_parallel
batch_axis: [pipe, data]
layout_map:
  d1/kernel: [null, [model, data]]
  "d1/bias": [[]]
  scale: []
optimizer_layout: {d1/.*: [data]}
keep_gathered: true
max_replicated: 0.25
fusion: {elementwise: false}
rematerialize: {mode: larger_than, output_size_threshold: 99}
memory_limit: 1.5 GiB
compile:
  optimizer: {Adam: {learning_rate: 0.5}}
  loss: mse
  metrics: [accuracy, TopK: {k: 5}]
fit: {batch_size: 7, epochs: 0, steps_per_epoch: 9, validation_split: 0.25, shuffle: false,
      log_steps: true, drop_remainder: true, prefetch: 5}
run_directory: out/
)");
  CHECK(config.seed == ~0ULL);
  CHECK(config.precision == Precision::kMixedBFloat16);
  CHECK(config.tensor_float32);
  CHECK(config.device == DeviceKind::kAuto);
  CHECK(config.collectives == Collectives::kNccl);
  CHECK(config.mesh.axes == Axes{{"data", 2}, {"model", -1}, {"pipe", 3}});
  CHECK(config.strategy == Strategy::kModelParallel);
  CHECK(config.batch_axis == std::vector<std::string>{"pipe", "data"});
  REQUIRE(config.layout_map.size() == 3);
  CHECK(config.layout_map[0].pattern == "d1/kernel");
  CHECK(config.layout_map[0].dims == Dims{{}, {"model", "data"}});
  CHECK(to_string(config.layout_map[0].at) == "c.yaml:15:3");
  CHECK(config.layout_map[1].pattern == "d1/bias");
  CHECK(config.layout_map[1].dims == Dims{{}});
  CHECK(config.layout_map[2].dims.empty());
  CHECK(config.optimizer_layout.at(0).dims == Dims{{"data"}});
  CHECK(config.keep_gathered);
  REQUIRE(config.max_replicated);
  CHECK(config.max_replicated->part == 0.25);
  CHECK(config.fusion.all);
  REQUIRE(config.fusion.choices.size() == 1);
  CHECK(config.fusion.choices[0].name == "elementwise");
  CHECK(!config.fusion.choices[0].wanted);
  CHECK(config.rematerialize.mode == RematerializeSpec::Mode::kLargerThan);
  CHECK(config.rematerialize.output_size_threshold == 99);
  REQUIRE(config.memory_limit.has_value());
  CHECK(config.memory_limit->bytes == 1610612736);
  REQUIRE(config.compile.has_value());
  CHECK(config.compile->optimizer.name == "Adam");
  CHECK(config.compile->optimizer.args.find("learning_rate")->value.as_real("x") == 0.5);
  CHECK(config.compile->loss->name == "mse");
  CHECK(config.compile->loss->args.is_null());
  CHECK(config.compile->objectives[0].metrics.at(1).name == "TopK");
  CHECK(config.fit.batch_size == 7);
  CHECK(config.fit.epochs == 0);
  CHECK(config.fit.steps_per_epoch == 9);
  CHECK(config.fit.validation_split == 0.25);
  CHECK(!config.fit.shuffle);
  CHECK(config.fit.log_steps);
  CHECK(config.fit.drop_remainder);
  CHECK(config.fit.prefetch == 5);
  CHECK(config.run_directory == "out");
}

TEST_CASE("what is computed again") {
  using Mode = RematerializeSpec::Mode;
  const auto mode = [](const std::string& text) {
    return parse(kModel + "rematerialize: " + text).rematerialize.mode;
  };
  CHECK(parse(kModel).rematerialize.mode == Mode::kNone);
  CHECK(!parse(kModel).memory_limit.has_value());
  CHECK(mode("true") == Mode::kFull);
  CHECK(mode("false") == Mode::kNone);
  CHECK(mode("{}") == Mode::kFull);
  CHECK(mode("activations") == Mode::kActivations);
  CHECK(mode("{mode: list_of_layers, layer_names: [d1]}") == Mode::kListOfLayers);
  CHECK(parse(kModel + "memory_limit: 64KiB").memory_limit->bytes == 65536);
  CHECK(parse(kModel + "memory_limit: 4096").memory_limit->bytes == 4096);
  const Config config = parse(R"(
blocks: {pair: {layers: [Flatten, Flatten]}}
model:
  input: [4]
  layers:
    - pair: {repeat: 2, rematerialize: true}
    - Dense: {units: 3, rematerialize: true}
    - Dense: {units: 3}
)");
  std::vector<std::string> again;
  for (const LayerSpec& layer : config.model.layers) {
    if (layer.rematerialize) again.push_back(layer.path);
  }
  CHECK(again == std::vector<std::string>{"pair", "pair_1", "dense"});
}

TEST_CASE("defaults that follow from other keys") {
  CHECK(parse(kModel + "layout_map: {}").strategy == Strategy::kModelParallel);
  CHECK(parse(kModel + "fit: {validation_split: 0.1}").fit.validation);
  CHECK(!parse(kModel + "fit: {validation_split: 0.1, validation: false}").fit.validation);
  CHECK(parse(kModel + "compile: {loss: mse}").compile->optimizer.name == "rmsprop");
  const Config metric = parse(kModel + "compile: {loss: mse, metrics: mae}");
  CHECK(metric.compile->objectives[0].metrics.size() == 1);
  CHECK(parse(kModel + "batch_axis: data").batch_axis == std::vector<std::string>{"data"});
  CHECK(parse(kModel + "batch_axis: []").batch_axis.empty());
  CHECK(parse(kModel + "fit:\nmesh:\nseed: null\n").seed == 1337);
}

TEST_CASE("load_config names the file in what it cannot read") {
  CHECK(error_of([] { load_config("no/such.yaml", {}); }) ==
        "no/such.yaml: cannot read the file; check the path");
  CHECK(error_of([] { load_config("src", {}); }) == "src: is a folder; name a file in it");
}

TEST_CASE("unmatched_rules says what becomes of rules that lay out nothing") {
  CHECK(parse(kModel).unmatched_rules == UnmatchedRules::kError);
  CHECK(parse(kModel + "unmatched_rules: error").unmatched_rules == UnmatchedRules::kError);
  CHECK(parse(kModel + "unmatched_rules: warn").unmatched_rules == UnmatchedRules::kWarn);
  CHECK(parse(kModel + "unmatched_rules: ignore").unmatched_rules == UnmatchedRules::kIgnore);
  CHECK(parse_error(kModel + "unmatched_rules: warning") ==
        "c.yaml:5:18: unmatched_rules 'warning' is unknown; nearest: 'warn'");
  CHECK(parse_error(kModel + "unmatched_rule: warn") ==
        "c.yaml:5:1: the configuration has no key 'unmatched_rule'; nearest: 'unmatched_rules'");
}

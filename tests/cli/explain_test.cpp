// The command `explain`.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/job_folder.h"
#include "support/environment_variable.h"
#include "support/patterns.h"

using namespace meshwork::cli;
using meshwork::testing::EnvironmentVariable;
using meshwork::testing::matches;

namespace {

/// A convolutional network on tiles: a device between others fetches rows from two sides.
constexpr const char* kTiles = R"(mesh: {data: 1, height: 3}
layout_map: {input/output: [data, height, null, null]}
dataset:
  name: tiles
  format: synthetic
  splits: {train: {x: {normal: [9, 15, 6, 3]}, y: {integers: [9], below: 4}}}
model:
  input: [15, 6, 3]
  layers:
    - Conv2D: {name: conv, filters: 24, kernel_size: 5, padding: same}
    - BatchNormalization: {name: norm}
    - ReLU: {name: active}
    - Conv2D: {name: last, filters: 8, kernel_size: 3, padding: same}
    - GlobalAveragePooling2D: {name: mean}
    - Dense: {name: logits, units: 4}
compile:
  optimizer: {SGD: {momentum: 0.9, gradient_accumulation_steps: 2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
fit: {batch_size: 4, validation: false}
run_directory: run
)";

/// Numbers of memory.csv by name of the column, of every device.
std::vector<std::map<std::string, std::int64_t>> memory_rows(const std::string& text) {
  std::istringstream lines(text);
  const auto cells = [&](std::string line) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line);
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  };
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = cells(line);
  std::vector<std::map<std::string, std::int64_t>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> values = cells(line);
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = std::stoll(values.at(i));
  }
  return rows;
}

Finished explain(const JobFolder& folder, const std::string& arguments,
                 const std::string& environment = "COLUMNS=100") {
  return run_program("explain " + arguments,
                     "cd '" + folder.path.string() +
                         "' && env -u MESHWORK_DATA -u NO_COLOR -u COLORTERM " + environment);
}

}  // namespace

TEST_CASE("explain without a path is Keras's summary with layouts") {
  const JobFolder folder;
  const Finished run = explain(folder, "c.yaml");
  CHECK(run.exit_code == 0);
  CHECK(run.err == "");
  const std::size_t at = run.out.find(" Training takes");
  REQUIRE(at != std::string::npos);
  CHECK(run.out.substr(0, at) ==
        "Model: \"c\"\n"
        "┏━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━┓\n"
        "┃ Layer (type)       ┃ Output Shape ┃ Param # ┃ Layout        ┃ Weights' layout      ┃\n"
        "┡━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━┩\n"
        "│ input (InputLayer) │ (None, 3)    │       0 │ [data, null]  │ -                    │\n"
        "├────────────────────┼──────────────┼─────────┼───────────────┼──────────────────────┤\n"
        "│ d1 (Dense)         │ (None, 7)    │      28 │ [data, model] │ kernel [null, model] │\n"
        "│                    │              │         │               │ bias [model]         │\n"
        "├────────────────────┼──────────────┼─────────┼───────────────┼──────────────────────┤\n"
        "│ d2 (Dense)         │ (None, 5)    │      40 │ [data, null]  │ kernel [model, null] │\n"
        "│                    │              │         │               │ bias replicated      │\n"
        "└────────────────────┴──────────────┴─────────┴───────────────┴──────────────────────┘\n"
        " Outputs that a layout map may name: input/output, d1/output, d2/output\n"
        " Total params: 204 (816.00 B)\n"
        " Trainable params: 68 (272.00 B)\n"
        " Non-trainable params: 0 (0.00 B)\n"
        " Optimizer params: 136 (544.00 B)\n"
        " Mesh data=2,model=2: 4 devices\n"
        " A training step sends 234.00 B per device in 7 collectives\n");
  // What a step takes is a matter of the machine's kernels, too.
  const std::string memory =
      " Training takes at most [0-9]+\\.[0-9][0-9] KiB per device: weights "
      "164\\.00 B, optimizer state 796\\.00 B, step [0-9]+\\.[0-9][0-9] KiB\n"
      " A process keeps 432\\.00 B of the data set in memory besides\n";
  CHECK(matches(run.out.substr(at), memory));
}

TEST_CASE("a model that is no list says what is connected to what, within the width") {
  const JobFolder folder;
  folder.write("graph.yaml", R"(mesh: {data: 2}
model:
  input: [6]
  layers:
    - Dense: {name: a_layer_with_a_long_name, units: 6}
    - Dense: {name: b, units: 6, inputs: input}
    - Add: {name: sum, inputs: [a_layer_with_a_long_name, b]}
)");
  const Finished run = explain(folder, "graph.yaml --ascii", "COLUMNS=70");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("| Connected ") != std::string::npos);
  CHECK(run.out.find("| a_layer_") != std::string::npos);
  CHECK(run.out.find(" A prediction sends 0.00 B per device in 0 collectives\n") !=
        std::string::npos);
  CHECK(
      run.out.find("without data, hence without gradients and optimizer: graph.yaml: no dataset") !=
      std::string::npos);
  CHECK(run.out.find(" Per device: 336.00 B of weights, 0.00 B of optimizer state\n") !=
        std::string::npos);
  const std::string table = run.out.substr(0, run.out.find(" Total"));
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = table.find('\n', at);
    CHECK(end - at <= 70);
    at = end + 1;
  }
}

TEST_CASE("explain draws a weight, names its rule, and counts what it sends") {
  const JobFolder folder;
  const Finished run = explain(folder, "c.yaml d2/kernel");
  CHECK(run.exit_code == 0);
  CHECK(run.out ==
        "mesh data=2,model=2: 4 devices, device = 2 data + model\n"
        "boxes name the devices that hold a part\n"
        "\n"
        "d2/kernel  trained weight\n"
        "  tensor      float32 (7, 5), 140 bytes\n"
        "  layout      [model, null]\n"
        "  rule        'd2/kernel' (c.yaml:5:3)\n"
        "  per device  (4, 5), 80 bytes; the smallest (3, 5), 60 bytes\n"
        "\n"
        "          columns\n"
        "  rows      0-4\n"
        "       ┌────────────┐\n"
        "       │            │\n"
        "       │            │\n"
        "   0-3 │    0,2     │\n"
        "       │            │\n"
        "       │            │\n"
        "       ├────────────┤\n"
        "       │            │\n"
        "   4-6 │    1,3     │\n"
        "       │            │\n"
        "       └────────────┘\n"
        "\n"
        "  sends       in a training step, bytes of one device on average:\n"
        "    forward, d2: a result of einsum in d2, which adds up over its rows\n"
        "      [data, null] partial(model) -> [data, null]\n"
        "      all_reduce over model: 80 bytes\n"
        "    backward, d2: its gradient\n"
        "      [model, null] partial(data) -> [model, null], for adam\n"
        "      all_reduce over data: 70 bytes\n"
        "    in all 150 bytes\n");
}

TEST_CASE("explain says why an output is laid out so, and of no rule") {
  const JobFolder folder;
  const std::string output = explain(folder, "c.yaml d1/output").out;
  CHECK(output.find("follows     data splits batch: this comes with batch of input/output, in the "
                    "end from the data\n              'x', whose batch it splits\n"
                    "              model splits features: this comes with columns of d1/kernel, by "
                    "rule 'd1/kernel'\n              (c.yaml:3:3)\n") != std::string::npos);
  const std::string bias = explain(folder, "c.yaml d2/bias").out;
  CHECK(bias.find("rule        no rule: replicated\n") != std::string::npos);
  CHECK(bias.find("│                  0-3                   │") != std::string::npos);
  const std::string parallel =
      explain(folder, "c.yaml d1/kernel strategy=data_parallel layout_map=null").out;
  CHECK(parallel.find("rule        none: strategy data_parallel replicates every weight\n") !=
        std::string::npos);
  const std::string empty =
      explain(folder, "c.yaml d2/bias --mesh 1x8 'layout_map={d2/bias: [model]}'").out;
  CHECK(empty.find("empty       devices 5-7 hold nothing") != std::string::npos);
}

TEST_CASE("explain shows the halos that a convolution fetches, and of tiles who holds which") {
  const JobFolder folder;
  folder.write("tiles.yaml", R"(mesh: {data: 2, height: 2, width: 2}
layout_map: {input/output: [data, height, width, null]}
model:
  input: [9, 6, 2]
  layers:
    - Conv2D: {name: conv, filters: 4, kernel_size: 3, padding: same}
    - GlobalAveragePooling2D: {name: mean}
fit: {batch_size: 4}
)");
  const Finished run = explain(folder, "tiles.yaml input/output");
  CHECK(run.exit_code == 0);
  CHECK(run.out.find("batch 0-1 ") != std::string::npos);
  CHECK(run.out.find("batch 2-3\n") != std::string::npos);
  CHECK(run.out.find("      halo of height: up to 1 before and 1 after each part\n"
                     "        0-4   █████░···   needs 0-5   devices 0,1,4,5\n"
                     "        5-8   ····░████   needs 4-8   devices 2,3,6,7\n") !=
        std::string::npos);
  CHECK(run.out.find("in a prediction, bytes of one device on average") != std::string::npos);
  const std::string mean = explain(folder, "tiles.yaml mean/output").out;
  CHECK(mean.find("all_reduce over height, width") != std::string::npos);
}

TEST_CASE("explain takes a layer, and overrides before and after the path") {
  const JobFolder folder;
  const Finished layer = explain(folder, "c.yaml --mesh 1x4 d1 fit.batch_size=4");
  CHECK(layer.exit_code == 0);
  CHECK(layer.out.find("\nd1/kernel  trained weight\n") != std::string::npos);
  CHECK(layer.out.find("\nadam/d1_kernel_momentum  state of the optimizer, held as d1/kernel\n") !=
        std::string::npos);
  CHECK(layer.out.find("float32 (4, 7), 112 bytes") != std::string::npos);
  const Finished wrong = explain(folder, "c.yaml d1/kernl");
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.out == "");
  CHECK(wrong.err ==
        "meshwork: command line: 'd1/kernl' is no variable, gradient, layer or layer's output; "
        "nearest: 'd1/kernel', 'd2/kernel'\n");
  CHECK(explain(folder, "c.yaml d1 d2").err.find("takes one PATH, not 'd1' and 'd2'") !=
        std::string::npos);
  CHECK(explain(folder, "c.yaml d1 --color=green").exit_code == 2);
}

TEST_CASE("colour only where it is wished, or a terminal is there") {
  const JobFolder folder;
  const auto has_escape = [](const Finished& run) {
    CHECK(run.exit_code == 0);
    return run.out.find('\x1b') != std::string::npos;
  };
  CHECK(!has_escape(explain(folder, "c.yaml d1/kernel")));
  CHECK(!has_escape(explain(folder, "c.yaml d1/kernel --color never")));
  CHECK(has_escape(explain(folder, "c.yaml d1/kernel --color always")));
  CHECK(has_escape(explain(folder, "c.yaml d1/kernel --color always", "NO_COLOR=1")));
  CHECK(explain(folder, "c.yaml d1/kernel --color always").out.find("\x1b[30;48;5;") !=
        std::string::npos);
  CHECK(explain(folder, "c.yaml d1/kernel --color always", "COLORTERM=truecolor")
            .out.find("\x1b[30;48;2;") != std::string::npos);
}

TEST_CASE("explain --json can be read by a program") {
  const JobFolder folder;
  const auto report = nlohmann::json::parse(explain(folder, "c.yaml d2/kernel --json").out);
  const auto& value = report.at("values").at(0);
  CHECK(report.at("training") == true);
  CHECK(value.at("path") == "d2/kernel");
  CHECK(value.at("layout") == "[model, null]");
  CHECK(value.at("rule_at") == "c.yaml:5:3");
  REQUIRE(value.at("devices").size() == 4);
  CHECK(value.at("devices").at(1).at("offset") == nlohmann::json({4, 0}));
  CHECK(value.at("devices").at(1).at("bytes") == 60);
  double sent = 0;
  for (const auto& transfer : value.at("moves"))
    sent += transfer.at("bytes_per_device").get<double>();
  CHECK(value.at("sent_per_device") == sent);
  CHECK(value.at("moves").at(0).at("collectives").at(0).at("kind") == "all_reduce");

  const auto summary = nlohmann::json::parse(explain(folder, "c.yaml --json").out);
  CHECK(summary.at("layers").size() == 3);
  CHECK(summary.at("layers").at(1).at("class") == "Dense");
  CHECK(summary.at("layers").at(1).at("output_shape").at(0).is_null());
  CHECK(summary.at("layers").at(1).at("variables").at("kernel") == "[null, model]");
  CHECK(summary.at("totals").at("parameters") == 68);
  CHECK(summary.at("totals").at("optimizer") == 136);
}

TEST_CASE("explain knows before a run what it takes on the device that takes most") {
  // Scratch is that of the threads of a device, and one of these runs has a limit.
  const EnvironmentVariable threads("OMP_NUM_THREADS", "1");
  const JobFolder folder;
  folder.write("tiles.yaml", kTiles);
  int most_not_on_first = 0;
  for (const std::string arguments :
       {"c.yaml", "c.yaml --mesh 1x1", "c.yaml --mesh 3x2 fit.batch_size=16",
        "c.yaml fit.validation_batch_size=7 fit.batch_size=2", "c.yaml fit.batch_size=32",
        "tiles.yaml --mesh 1x1 memory_limit=186KiB", "tiles.yaml", "tiles.yaml --mesh 1x1",
        "tiles.yaml --mesh 2x2 precision=mixed_bfloat16"}) {
    CAPTURE(arguments);
    const Finished said = explain(folder, arguments + " --json");
    CHECK(said.err == "");
    REQUIRE(said.exit_code == 0);
    const auto memory = nlohmann::json::parse(said.out).at("memory");
    REQUIRE(folder.run("fit " + arguments + " fit.epochs=1 --overwrite").exit_code == 0);
    const auto rows = memory_rows(folder.read("run/memory.csv"));
    const auto device = memory.at("device").get<std::size_t>();
    CHECK(memory.at("arena") == rows.at(device).at("arena"));
    for (const auto& row : rows) CHECK(row.at("arena") <= memory.at("arena"));
    const auto bytes = [&](const char* key) { return memory.at(key).get<std::int64_t>(); };
    CHECK(bytes("weights") > 0);
    CHECK(bytes("step") > 0);
    CHECK(bytes("weights") + bytes("optimizer") == rows.at(device).at("variables"));
    CHECK(bytes("weights") + bytes("optimizer") + bytes("step") == bytes("arena"));
    CHECK(memory.at("data") == rows.at(device).at("data"));
    if (device > 0) ++most_not_on_first;
  }
  CHECK(most_not_on_first > 0);
}

TEST_CASE("explain knows no memory of a run without data, and holds one with data to its limit") {
  const JobFolder folder;
  CHECK(nlohmann::json::parse(explain(folder, "c.yaml dataset=null --json").out)
            .at("memory")
            .is_null());
  const Finished tight = explain(folder, "c.yaml memory_limit=1000");
  CHECK(tight.exit_code == 2);
  CHECK(tight.err.find("memory_limit is 1000 bytes") != std::string::npos);
}

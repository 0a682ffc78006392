// Blocks and several outputs as a user meets them.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/job_folder.h"

using namespace meshwork::cli;

namespace {

constexpr const char* kForms = R"(mesh: {data: 2, model: 2}
dataset:
  name: forms
  format: synthetic
  splits:
    train: {x: {normal: [20, 3]}, digit: {integers: [20], below: 5}, size: {normal: [20, 2]}}
    test: {x: {normal: [7, 3]}, digit: {integers: [7], below: 5}, size: {normal: [7, 2]}}
blocks:
  mlp:
    params: {units: 6}
    layers:
      - Dense: {units: $units, kernel_layout: [null, model]}
      - ReLU
model:
  params: {depth: 2}
  input: [3]
  outputs: [digit, size]
  freeze: [mlp]
  layers:
    - mlp: {repeat: $depth}
    - Dense: {name: digit, units: 5}
    - Dense: {name: size, units: 2, inputs: mlp_1}
compile:
  optimizer: adam
  loss: {digit: {SparseCategoricalCrossentropy: {from_logits: true}}, size: mse}
  metrics: {digit: [accuracy]}
fit: {batch_size: 8, epochs: 2, validation: true}
run_directory: run
)";

struct FormsFolder : JobFolder {
  FormsFolder() { write("c.yaml", kForms); }
  std::string output(const std::string& arguments) const {
    const Finished done = run(arguments);
    CAPTURE(arguments);
    CHECK(done.exit_code == 0);
    CHECK(done.err == "");
    return done.out;
  }
};

}  // namespace

TEST_CASE("data to predict from need no labels") {
  const JobFolder folder;
  folder.write("train.csv", "a,b,y\n1,2,3\n2,3,5\n3,4,7\n4,5,9\n");
  folder.write("test.csv", "b,a\n3,2\n6,5\n");
  folder.write("c.yaml", R"(mesh: {data: 2}
dataset: {format: csv, splits: {train: train.csv, test: test.csv}, x: {columns: [a, b]}, y: {columns: y}}
model: {input: [2], layers: [Dense: {name: d, units: 1}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 2, epochs: 2, validation_split: 0.5}
run_directory: run
)");
  output(folder, "fit c.yaml --verbose 0");
  CHECK(output(folder, "predict c.yaml --from run --split test --verbose 0") ==
        "wrote run/predictions.npy: float32[2, 1]\n");
  const std::string expected = folder.read("run/predictions.npy");
  for (const char* splits : {"{test: test.csv}", "{test: {x: test.csv}}",
                             "{train: {x: train.csv, y: train.csv}, test: {x: test.csv}}"}) {
    output(folder,
           std::string("predict c.yaml --from run --split test --verbose 0 'dataset.splits=") +
               splits + "' --output p.npy");
    CHECK(folder.read("p.npy") == expected);
  }
  CHECK(output(folder, "predict c.yaml --from run --verbose 0") ==
        "wrote run/predictions.npy: float32[2, 1]\n");
  CHECK(complaint(folder, "evaluate c.yaml --from run --split test", 3).find("no column 'y'") !=
        std::string::npos);
  CHECK(complaint(folder,
                  "evaluate c.yaml --from run --split test 'dataset.splits={train: {x: train.csv, "
                  "y: train.csv}, test: {x: test.csv}}'",
                  2)
            .find("split 'test' has no field 'y'") != std::string::npos);
}

TEST_CASE("several outputs are fitted, evaluated and predicted, each under its name") {
  const FormsFolder folder;
  const std::string fit = folder.output("fit c.yaml --verbose 0");
  for (const char* name : {"final loss=", " digit_accuracy=", " digit_loss=", " size_loss=",
                           " val_digit_accuracy=", " val_loss=", " val_size_loss="}) {
    CHECK_MESSAGE(fit.find(name) != std::string::npos, fit);
  }
  CHECK(folder.read("run/metrics.csv")
            .starts_with("epoch,digit_accuracy,digit_loss,loss,size_loss,val_digit_accuracy,"));
  const std::string evaluated = folder.output("evaluate c.yaml --from run --verbose 0");
  CHECK(evaluated.find(" size_loss=") != std::string::npos);
  CHECK(folder.output("predict c.yaml --from run --verbose 0") ==
        "wrote run/predictions_digit.npy: float32[7, 5]\n"
        "wrote run/predictions_size.npy: float32[7, 2]\n");
  // Data without labels will do, on another mesh.
  const std::string unlabelled =
      "predict c.yaml --from run --verbose 0 --split train fit.validation=false "
      "'dataset.splits={train: {x: {normal: [9, 3]}}}' --output ";
  CHECK(folder.output(unlabelled + "out/p.npy") ==
        "wrote out/p_digit.npy: float32[9, 5]\n"
        "wrote out/p_size.npy: float32[9, 2]\n");
  CHECK(folder.read("out/p_digit.npy").size() == 128 + 9 * 5 * 4);
  folder.output(unlabelled + "q.npy --mesh 3x1");
  CHECK(folder.read("q_size.npy").size() == 128 + 9 * 2 * 4);
}

TEST_CASE("paths marks what is not trained, and names the layouts of layers") {
  const FormsFolder folder;
  const std::string paths = folder.output("paths c.yaml");
  CHECK(paths.find("mlp/dense/kernel    [3, 6]  float32  no         kernel_layout (line 12)  "
                   "[null, model]") != std::string::npos);
  CHECK(paths.find("mlp_1/dense/kernel  [6, 6]  float32  yes        kernel_layout (line 12)  "
                   "[null, model]") != std::string::npos);
  CHECK(paths.find("\n  of them 24 are not trained\n") != std::string::npos);
  const auto report = nlohmann::json::parse(folder.output("paths c.yaml --json"));
  CHECK(report.at("variables").at(0).at("trainable") == false);
  CHECK(report.at("variables").at(2).at("trainable") == true);
  CHECK(folder.output("validate c.yaml model.params.depth=3").find("; 8 layers; ") !=
        std::string::npos);
}

TEST_CASE("mistakes in blocks are named alike by every command") {
  const FormsFolder folder;
  for (const char* command : {"fit", "validate", "paths"}) {
    const Finished done =
        folder.run(std::string(command) + " c.yaml blocks.mlp.layers.0.units='$unit'");
    CHECK(done.exit_code == 2);
    CHECK(done.err ==
          "meshwork: command line: 'blocks.mlp.layers.0.units=$unit': expression 'unit': there is "
          "no parameter 'unit'; nearest: 'units' (in block 'mlp', used at c.yaml:20:7)\n");
  }
}

// meshwork suggest: layout maps to be copied into the file.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/job_folder.h"

using namespace meshwork::cli;
using Json = nlohmann::json;

namespace {

constexpr const char* kConfig = R"(mesh: {data: 2, model: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [256, 256]}, y: {normal: [256, 256]}}}
blocks:
  pair:
    layers:
      - Dense: {name: up, units: 1024, activation: relu}
      - Dense: {name: down, units: 256}
model: {input: [256], layers: [pair: {repeat: 2}]}
compile: {optimizer: adam, loss: mse}
fit: {batch_size: 256, steps_per_epoch: 1}
run_directory: run
)";

}  // namespace

TEST_CASE("suggest gives a layout map that may be copied into the file") {
  const JobFolder folder;
  folder.write("s.yaml", kConfig);
  const std::string text = output(folder, "suggest s.yaml");
  CHECK(text.starts_with("mesh data=2,model=2: 4 devices, device = 2 data + model; "));
  const std::size_t begin = text.find("layout_map:\n"), end = text.find("\n\n", begin);
  REQUIRE(begin != std::string::npos);
  const std::string map = text.substr(begin, end - begin + 1);
  CHECK(map.find("  'pair(_\\d+)?/up/kernel': [null, model]\n") != std::string::npos);
  CHECK(map.find("  'pair(_\\d+)?/down/kernel': [model, null]\n") != std::string::npos);
  CHECK(text.find("\nas the file has it ") != std::string::npos);
  CHECK_FALSE(folder.has("run"));

  folder.write("with_map.yaml", kConfig + map);
  const Json told = Json::parse(output(folder, "suggest s.yaml --json"));
  const Json plan = Json::parse(output(folder, "plan with_map.yaml --json"));
  CHECK(plan["memory"]["bytes"] == told["after"]["memory"]);
  CHECK(plan["sends"]["bytes"] == told["after"]["sends"]);
  CHECK(told["layout_map"]["pair(_\\d+)?/up/kernel"] == Json{nullptr, "model"});
  CHECK(told["after"]["cost"] < told["before"]["cost"]);
  output(folder, "fit with_map.yaml --verbose 0");
  CHECK(output(folder, "suggest with_map.yaml")
            .find("no other layout of a weight makes the step "
                  "cheaper on this mesh\n") != std::string::npos);
}

TEST_CASE("suggest compares meshes, and gives the map for the best") {
  const JobFolder folder;
  folder.write("s.yaml", kConfig);
  const std::string text = output(folder, "suggest s.yaml --meshes all");
  CHECK(text.starts_with("a step, per device "));
  for (const char* mesh : {"\ndata=4,model=1 ", "\ndata=2,model=2 ", "\ndata=1,model=4 "}) {
    CHECK(text.find(mesh) != std::string::npos);
  }
  CHECK(text.find(" 1.00\n") != std::string::npos);
  CHECK(text.find(": 4 devices") != std::string::npos);
  CHECK(text.find(", which costs least\n") != std::string::npos);
  const Json meshes = Json::parse(output(folder, "suggest s.yaml --meshes 1x1,2x2 --json"));
  REQUIRE(meshes.size() == 2);
  CHECK(meshes[0]["layout_map"].empty());
  CHECK(meshes[1]["mesh"] == Json{{"data", 2}, {"model", 2}});
}

TEST_CASE("suggest says what it cannot do") {
  const JobFolder folder;
  const std::string nothing = output(folder, "suggest c.yaml --mesh 4x1");
  CHECK(nothing.find("; 1 layout was tried\n\nnothing to try: every weight has a rule, or no axis "
                     "splits anything but the batch; take a mesh with another axis, such as --mesh "
                     "data=2,model=2\n") != std::string::npos);
  CHECK(nothing.find("with these rules") == std::string::npos);
  CHECK(complaint(folder, "suggest c.yaml compile=null", 2) ==
        "c.yaml: no 'compile:' section; suggest compiles training steps, for which it needs data "
        "and 'compile:'");
  folder.write("s.yaml", kConfig);
  CHECK(output(folder, "suggest s.yaml memory_limit=10000")
            .find("a step takes more than memory_limit under every layout that was tried: ") !=
        std::string::npos);
}

TEST_CASE("where no layout fits into memory_limit, the step is computed again as fit does") {
  const JobFolder folder;
  folder.write("s.yaml", R"(mesh: {data: 2}
dataset:
  name: t
  format: synthetic
  splits: {train: {x: {normal: [4096, 64]}, y: {normal: [4096, 64]}}}
blocks:
  pair:
    layers: [Dense: {name: up, units: 64, activation: relu}, LayerNormalization: {name: n}]
model: {input: [64], layers: [pair: {repeat: 12}]}
compile: {optimizer: sgd, loss: mse}
fit: {batch_size: 4096, steps_per_epoch: 1}
run_directory: run
)");
  const std::string command = "suggest s.yaml memory_limit=12MiB";
  const std::string text = output(folder, command);
  CHECK(text.find("\n\nno layout that was tried fits into memory_limit by itself; the step as the "
                  "file has it fits when parts of it are computed again, ") != std::string::npos);
  const Json told = Json::parse(output(folder, command + " --json"));
  const Json plan = Json::parse(output(folder, "plan s.yaml memory_limit=12MiB --json"));
  CHECK(told["fits"] == true);
  CHECK(told["recomputes"] == true);
  CHECK(told["layout_map"].empty());
  CHECK(told["after"]["memory"] == plan["memory"]["bytes"]);
}

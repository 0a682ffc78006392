#pragma once

#include <doctest/doctest.h>

#include <string>

#include "cli/program.h"

namespace meshwork::cli {

/// A small classifier, uneven on its mesh, over data made up on the spot.
constexpr const char* kTinyConfig = R"(mesh: {data: 2, model: 2}
layout_map:
  d1/kernel: [null, model]
  d1/bias: [model]
  d2/kernel: [model, null]
dataset:
  name: tiny
  format: synthetic
  splits:
    train: {x: {normal: [20, 3]}, y: {integers: [20], below: 5}}
    test: {x: {normal: [7, 3]}, y: {integers: [7], below: 5}}
model:
  input: [3]
  layers:
    - Dense: {name: d1, units: 7, activation: relu}
    - Dense: {name: d2, units: 5}
compile:
  optimizer: {Adam: {learning_rate: 0.01}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit: {batch_size: 8, epochs: 2, validation: true}
run_directory: run
)";

/// c.yaml in a folder of its own, from which the program runs.
struct JobFolder {
  std::filesystem::path path;

  JobFolder() {
    char name[] = "/tmp/meshwork_job_XXXXXX";
    path = mkdtemp(name);
    write("c.yaml", kTinyConfig);
  }
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;
  ~JobFolder() { std::filesystem::remove_all(path); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path / name, std::ios::binary) << text;
  }
  std::string read(const std::string& name) const { return read_all(path / name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path / name); }

  Finished run(const std::string& arguments) const {
    return run_program(arguments, "cd '" + path.string() + "' && env -u MESHWORK_DATA");
  }
};

/// The standard output of a run that must be all right.
inline std::string output(const JobFolder& folder, const std::string& arguments) {
  const Finished run = folder.run(arguments);
  CAPTURE(arguments);
  CHECK(run.exit_code == 0);
  CHECK(run.err == "");
  return run.out;
}

/// The complaint of a run that must fail, without "meshwork: " and the end of the line.
inline std::string complaint(const JobFolder& folder, const std::string& arguments, int exit_code) {
  const Finished run = folder.run(arguments);
  CAPTURE(arguments);
  CAPTURE(run.err);
  CHECK(run.exit_code == exit_code);
  CHECK(run.out == "");
  REQUIRE(run.err.starts_with("meshwork: "));
  REQUIRE(run.err.ends_with('\n'));
  return run.err.substr(10, run.err.size() - 11);
}

inline std::string train(const JobFolder& folder, const std::string& more = "") {
  return output(folder, "fit c.yaml --verbose 0 " + more);
}

}  // namespace meshwork::cli

#pragma once

#include <fmt/format.h>

#include <string>

#include "support/log_text.h"
#include "support/temp_directory.h"

namespace meshwork::test {

/// A file of two layers on GPUs, split over the axis `model`; `keys` has the mesh, and `units` are
/// those of the first layer.
inline std::string write_gpu_config(const TempDirectory& directory, const std::string& keys,
                                    int units) {
  const std::string file = directory.file("c.yaml");
  write_text(file, "device: cuda\n" + keys + R"(
layout_map: {'a/kernel': [null, model], 'a/bias': [model], 'b/kernel': [model, null]}
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [160, 30]}, y: {normal: [160, 3]}}
    test: {x: {normal: [50, 30]}, y: {normal: [50, 3]}}
model:
  input: [30]
  layers:
    - Dense: {name: a, units: )" +
                       std::to_string(units) +
                       R"(, activation: tanh}
    - Dropout: {rate: 0.2}
    - Dense: {name: b, units: 3}
compile: {optimizer: {Adam: {learning_rate: 0.01}}, loss: mse, metrics: [mae]}
fit: {batch_size: 16, epochs: 2, validation: true}
)");
  return file;
}

inline std::string fit(const std::string& config, const std::string& run,
                       const std::string& more = "") {
  return fmt::format(" fit {} --verbose 0 run_directory={} {}", config, run, more);
}

}  // namespace meshwork::test

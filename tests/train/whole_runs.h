#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "state/safetensors.h"
#include "support/log_text.h"
#include "support/temp_directory.h"
#include "support/training.h"
#include "train/fit.h"

namespace meshwork::testing::runs {

inline const std::vector<std::string> kMeshes{"1x1", "2x2", "3x1", "1x5"};

/// A regression with every layout, whose optimizer and `fit` are given.
inline std::string text_of(const std::string& optimizer, const std::string& fit,
                           const std::string& metrics = "[mae]") {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{'a/kernel': [null, model], 'a/bias': [model], 'b/kernel': [model, null]}}
optimizer_layout: {{'a/kernel': [data, null]}}
dataset:
  name: t
  format: synthetic
  splits:
    train: {{x: {{normal: [22, 6]}}, y: {{normal: [22, 3]}}}}
    test: {{x: {{normal: [9, 6]}}, y: {{normal: [9, 3]}}}}
model:
  input: [6]
  layers:
    - Dense: {{name: a, units: 7, activation: tanh}}
    - Dense: {{name: b, units: 3}}
compile: {{optimizer: {}, loss: mse, metrics: {}}}
fit: {{{}}}
)",
                     optimizer, metrics, fit);
}

struct Outcome {
  FitResult result;
  std::string error;  ///< "" if all went well
  ExitCode code = ExitCode::kOk;
  std::string out;  ///< what the first device printed
};

inline Outcome fit_job(Job job, int verbose = 0,
                       const FitOptions& how = {.rerun = Rerun::kOverwrite}) {
  job.target.threads = 1;
  prepare_fit(job);
  Outcome outcome;
  std::mutex mutex;
  try {
    run_on_devices(job, [&](const World& world) {
      std::ostringstream out;
      const auto keep = [&](const std::optional<FitResult>& result) {
        const std::lock_guard lock(mutex);
        if (world.hosts->rank() != 0) return;
        if (result) outcome.result = *result;
        outcome.out = out.str();
      };
      try {
        FitOptions options = how;
        options.verbose = verbose;
        keep(fit(job, world, options, out));
      } catch (const Error&) {
        keep(std::nullopt);
        throw;
      }
    });
  } catch (const Error& error) {
    outcome.code = error.code();
    outcome.error = error.what();
  }
  return outcome;
}

inline Outcome fit_on(const std::string& text, const std::string& mesh,
                      const std::string& directory, int verbose = 0,
                      const FitOptions& how = {.rerun = Rerun::kOverwrite}) {
  return fit_job(job_of(text + "run_directory: " + directory + "\n", mesh), verbose, how);
}

inline std::vector<float> values_of(const SafetensorsFile& stored, const StoredTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(num_elements(tensor.shape)));
  stored.read({tensor.path, DType::kFloat32, tensor.shape}, whole_region(tensor.shape),
              tensor.shape, reinterpret_cast<std::byte*>(values.data()));
  return values;
}

inline std::vector<float> weight_in(const std::string& file, const std::string& path) {
  const SafetensorsFile stored(file);
  const StoredTensor* const tensor = find_stored(stored.tensors(), path);
  REQUIRE(tensor != nullptr);
  return values_of(stored, *tensor);
}

/// All weights of a file, one after the other.
inline std::vector<float> weights_in(const std::string& file) {
  const SafetensorsFile stored(file);
  std::vector<float> all;
  for (const StoredTensor& tensor : stored.tensors()) {
    const std::vector<float> values = values_of(stored, tensor);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline double difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return worst;
}

inline std::vector<std::vector<std::string>> cells_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

/// The same words in the same places, and numbers but for the last digits.
inline void check_same_table(const std::string& a, const std::string& b) {
  const auto left = cells_of(a);
  const auto right = cells_of(b);
  REQUIRE(left.size() == right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    REQUIRE(left[i].size() == right[i].size());
    for (std::size_t j = 0; j < left[i].size(); ++j) {
      const bool is_number = i > 0 && left[i][j] != "NA" && right[i][j] != "NA";
      if (is_number) {
        CHECK(std::stod(left[i][j]) == doctest::Approx(std::stod(right[i][j])).epsilon(1e-5));
      } else {
        CHECK(left[i][j] == right[i][j]);
      }
    }
  }
}

/// Runs on every mesh; logs and weights must be those of one device, whose directory is "1x1".
inline void check_every_mesh(const std::string& text, const test::TempDirectory& directory) {
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    CHECK(fit_on(text, mesh, directory.file(mesh)).error == "");
    check_same_table(test::read_log(directory.file("1x1/metrics.csv")),
                     test::read_log(directory.file(mesh + "/metrics.csv")));
    CHECK(difference(weights_in(directory.file("1x1/final.safetensors")),
                     weights_in(directory.file(mesh + "/final.safetensors"))) < 1e-5);
  }
}

}  // namespace meshwork::testing::runs

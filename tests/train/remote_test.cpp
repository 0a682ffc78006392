// Whole programs on devices whose memory the host does not reach: the bits of the CPU.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <mutex>
#include <sstream>

#include "support/log_text.h"
#include "support/random_model.h"
#include "support/remote_device.h"
#include "support/temp_directory.h"
#include "support/training.h"
#include "train/evaluate.h"
#include "train/fit.h"
#include "train/predict.h"

using namespace meshwork;
using namespace meshwork::testing;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;

namespace {

void check_same(const std::string& text, const std::string& mesh, std::uint64_t seed,
                std::int64_t steps = 3) {
  CAPTURE(mesh);
  const Trajectory cpu = train(text, {.mesh = mesh, .steps = steps});
  const Trajectory remote =
      train(text, {.mesh = mesh, .steps = steps, .make_device = remote_devices(seed)});
  CHECK(remote.losses == cpu.losses);
  CHECK(remote.metrics == cpu.metrics);
  CHECK(remote.weights == cpu.weights);
  CHECK(remote.digest == cpu.digest);
}

/// A configuration that ships with Meshwork, on other data.
std::string shipped(const std::string& name, const std::string& dataset = "") {
  std::ifstream file("configs/" + name + ".yaml");
  std::string text;
  bool is_left_out = false;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(" ")) is_left_out = !dataset.empty() && line.starts_with("dataset:");
    if (!is_left_out) text += line + "\n";
  }
  return dataset.empty() ? text : text + "dataset: " + dataset + "\n";
}

/// Grey images and their classes.
std::string images(std::int64_t count, std::int64_t extent, std::int64_t channels) {
  const std::string last = channels > 0 ? fmt::format(", {}", channels) : "";
  return fmt::format(
      "{{name: t, format: synthetic, splits: {{train: {{x: {{uniform: [{0}, {1}, {1}{2}]}}, "
      "y: {{integers: [{0}], below: 10}}}}, test: {{x: {{uniform: [{0}, {1}, {1}{2}]}}, "
      "y: {{integers: [{0}], below: 10}}}}}}}}",
      count, extent, last);
}

struct Outcome {
  FitResult fitted, evaluated;
  std::string metrics, weights, predictions;
};

/// Fits, evaluates and predicts in a directory.
Outcome run_all(const std::string& text, const std::string& mesh, const std::string& directory,
                const DeviceFactory& make_device) {
  Job job = job_of(text + "run_directory: " + directory + "\n", mesh);
  job.target.threads = 1;
  job.device_factory = make_device;
  prepare_fit(job);
  const data::Split test = evaluation_split(job, "test");
  Outcome outcome;
  std::mutex mutex;
  std::ostringstream out;
  const auto on_devices = [&](const std::function<FitResult(const World&)>& work) {
    FitResult first;
    run_on_devices(job, [&](const World& world) {
      const FitResult mine = work(world);
      const std::lock_guard lock(mutex);
      if (world.hosts->rank() == 0) first = mine;
    });
    return first;
  };
  outcome.fitted = on_devices([&](const World& world) {
    std::ostringstream mine;
    return fit(job, world, {.verbose = 0}, mine);
  });
  prepare_evaluate(job, test);
  prepare_predict(job, test);
  const std::string weights = weights_file(directory);
  outcome.evaluated = on_devices([&](const World& world) {
    std::ostringstream mine;
    return evaluate(job, world, {weights}, 0, mine);
  });
  const auto files = prediction_files(job, test, directory + "/predictions.npy");
  on_devices([&](const World& world) {
    std::ostringstream mine;
    predict(job, world, {weights}, files, 0, mine);
    return FitResult{};
  });
  outcome.metrics = read_log(directory + "/metrics.csv");
  outcome.weights = read_text(weights);
  outcome.predictions = read_text(directory + "/predictions.npy");
  return outcome;
}

}  // namespace

TEST_CASE("data in memory and data that are read ahead train alike, there and on the CPU") {
  const auto text = [](const char* cache, const char* layout) {
    return fmt::format(R"(
mesh: {{data: 1, model: 1}}
strategy: model_parallel
layout_map: {{input/output: {1}}}
dataset:
  name: t
  format: synthetic
  cache: {0}
  splits: {{train: {{x: {{integers: [22, 3, 4], below: 256}}, y: {{integers: [22], below: 5}}}}}}
  x: {{scale: 0.0039, mean: [0.1, 0.2, 0.3, 0.4], std: [0.5, 1, 2, 3]}}
  y: {{one_hot: 5}}
model: {{input: [3, 4], layers: [Flatten, Dense: {{name: d, units: 5}}]}}
compile: {{optimizer: adam, loss: {{CategoricalCrossentropy: {{from_logits: true}}}}}}
fit: {{batch_size: 8}}
)",
                       cache, layout);
  };
  for (const char* layout : {"[data, null, null]", "[data, model, null]", "[null, null, model]"}) {
    for (const char* mesh : {"1x1", "2x1", "2x2", "3x2"}) {
      CAPTURE(layout);
      CAPTURE(mesh);
      const Trajectory kept = train(text("true", layout), {.mesh = mesh, .steps = 7});
      const Trajectory read = train(text("false", layout), {.mesh = mesh, .steps = 7});
      CHECK(kept.losses == read.losses);
      CHECK(kept.digest == read.digest);
      check_same(text("true", layout), mesh, 3, 7);
      check_same(text("false", layout), mesh, 4, 7);
    }
  }
}

TEST_CASE("random models train to the same bits on remote devices") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    for (const RandomModel& model :
         {random_model(seed), random_convnet(seed), random_transformer(seed)}) {
      check_same(model.layouts + "mesh: {data: 1}\n" + model.text, model.mesh, seed, 2);
    }
  }
}

TEST_CASE("passes side by side, and weights gathered ahead, give the same bits in any order") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    for (const RandomModel& model :
         {random_model(seed), random_convnet(seed), random_transformer(seed)}) {
      const std::string text = model.layouts + "mesh: {data: 1}\n" + model.text;
      TrainOptions options{.mesh = model.mesh, .steps = 2};
      const Trajectory apart = train(text, options);
      options.adapt = [&](Target& target) {
        target.launch_bytes = seed % 2 == 0 ? 1 << 20 : 1000;
        target.small_copy = seed % 3 == 0 ? 0 : 1 << 14;
        target.prefetch = seed % 5 * 1000;
        target.fusions.insert({"horizontal", "small_gathers", "small_scatters", "stacks"});
        target.stacked.insert({"einsum", "einsum_bias"});
      };
      CHECK(train(text, options).digest == apart.digest);
      options.make_device = remote_devices(seed);
      const Trajectory remote = train(text, options);
      CHECK(remote.weights == apart.weights);
      CHECK(remote.losses == apart.losses);
    }
  }
}

TEST_CASE("so do the configurations that ship with Meshwork") {
  check_same(shipped("keras_guide"), "2x4", 1);
  check_same(shipped("uneven"), "3x2", 2);
  check_same(shipped("tiles"), "2x2x2", 3);
  check_same(shipped("dtensor_mnist", images(128, 28, 0)), "", 4, 2);
  check_same(shipped("fashion_mnist", images(256, 28, 0)), "2x2", 5, 2);
  check_same(shipped("jax_convnet", images(128, 28, 1)), "", 6, 2);
  check_same(shipped("resnet", images(64, 28, 1)), "data=2", 7, 1);
}

TEST_CASE("a whole fit, evaluation and prediction on remote devices leave the same files") {
  const std::string text = R"(
mesh: {data: 1, model: 1}
layout_map: {'a/kernel': [null, model], 'b/kernel': [model, null]}
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [50, 6]}, y: {integers: [50], below: 3}}
    test: {x: {normal: [23, 6]}, y: {integers: [23], below: 3}}
model:
  input: [6]
  layers:
    - Dense: {name: a, units: 8, activation: tanh}
    - Dropout: {rate: 0.2}
    - Dense: {name: b, units: 3}
compile:
  optimizer: {Adam: {learning_rate: 0.01, use_ema: true, gradient_accumulation_steps: 2}}
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [accuracy]
fit:
  {batch_size: 8, epochs: 3, validation: true,
   callbacks: [EarlyStopping: {monitor: val_loss, restore_best_weights: true}]}
)";
  for (const char* mesh : {"1x1", "2x2"}) {
    CAPTURE(mesh);
    const TempDirectory directory;
    const Outcome cpu = run_all(text, mesh, directory.file("cpu"), {});
    const Outcome remote = run_all(text, mesh, directory.file("remote"), remote_devices(9));
    CHECK(remote.fitted.logs == cpu.fitted.logs);
    CHECK(remote.fitted.digest == cpu.fitted.digest);
    CHECK(remote.evaluated.logs == cpu.evaluated.logs);
    CHECK(remote.evaluated.digest == cpu.evaluated.digest);
    CHECK(remote.metrics == cpu.metrics);
    CHECK(remote.weights == cpu.weights);
    CHECK(remote.predictions == cpu.predictions);
  }
}

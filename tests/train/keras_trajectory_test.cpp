// Ten training steps against those that Keras recorded (tests/fixtures, made by
// scripts/make_keras_fixtures.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "config/yaml.h"
#include "data/dataset.h"
#include "support/npz.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

const std::filesystem::path kFixtures = "tests/fixtures";

/// Names of the cases in a folder: "adam__classifier", "networks/convnet".
std::vector<std::string> fixture_names(const std::filesystem::path& folder = {}) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures / folder)) {
    if (entry.path().extension() != ".yaml") continue;
    names.push_back((folder / entry.path().stem()).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string npz_of(const std::string& name) {
  return std::filesystem::absolute(kFixtures / (name + ".npz")).string();
}

std::vector<float> read_array(const std::string& name, const std::string& array) {
  const data::Dataset dataset(
      config::parse_yaml(fmt::format("{{name: fixture, format: npz, splits: {{train: {{x: {{file: "
                                     "{}, array: '{}'}}}}}}}}",
                                     npz_of(name), array),
                         "fixture"),
      0);
  const data::Field& field = dataset.split("train").fields.front();
  const data::SourceInfo& info = field.source->info();
  std::vector<float> values(static_cast<std::size_t>(num_elements(info.shape)));
  convert_elements(field.source->samples(), info.dtype, static_cast<std::int64_t>(values.size()),
                   field.conversion, values.data());
  return values;
}

std::string with_dataset(const std::string& name) {
  std::ifstream file(kFixtures / (name + ".yaml"));
  std::ostringstream text;
  text << file.rdbuf();
  const std::string npz = npz_of(name);
  const bool weighs = npz_names(npz, "sample_weight").size() == 1;
  return text.str() + fmt::format(
                          "dataset:\n  name: fixture\n  format: npz\n  splits:\n    train: "
                          "{{x: {0}, y: {0}{1}}}\n",
                          npz, weighs ? ", sample_weight: " + npz : "");
}

/// The samples of each batch: the last may have fewer.
std::vector<float> batch_counts(std::size_t steps, std::int64_t samples, std::int64_t batch) {
  std::vector<float> counts;
  for (std::size_t i = 0; i < steps; ++i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * batch;
    counts.push_back(static_cast<float>(std::min(batch, samples - first)));
  }
  return counts;
}

/// A Keras metric is a mean over samples, each as often as it counts.
double mean_over(const std::vector<float>& steps, const std::vector<float>& counts) {
  double total = 0;
  double count = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    total += static_cast<double>(steps[i]) * static_cast<double>(counts[i]);
    count += static_cast<double>(counts[i]);
  }
  return total / count;
}

/// How far from Keras's the results may be, relatively.
struct Tolerance {
  double losses = 1e-5;
  double weights = 1e-4;
};

/// Of numbers with 8 binary digits, of which Keras's compiler rounds sums at other places.
constexpr Tolerance kMixed{.losses = 1e-2, .weights = 1e-2};

/// The same with 11. Batch normalization blows up roundings: Keras itself gives weights as far from
/// those of float32.
constexpr Tolerance kMixedFloat16{.losses = 2e-3, .weights = 5e-3};

/// What Keras recorded, and options for the same steps from the same weights.
std::pair<Trajectory, TrainOptions> recorded(const std::string& name, const std::string& text,
                                             const std::string& mesh) {
  Trajectory keras;
  for (const float loss : read_array(name, "losses")) keras.losses.push_back(loss);
  TrainOptions options{
      .mesh = mesh, .steps = static_cast<std::int64_t>(keras.losses.size()), .shuffle = false};
  const Trajectory untrained = train(text, {.mesh = mesh, .steps = 0});
  for (const auto& [path, weights] : untrained.weights) {
    options.initial[path] = read_array(name, "initial/" + path);
    keras.weights[path] = read_array(name, "final/" + path);
  }
  return {keras, options};
}

/// `layout`: keys of the configuration that the case has not.
void check_against_keras(const std::string& name, const std::string& mesh,
                         const std::string& layout = "", const Tolerance& tolerance = {}) {
  CAPTURE(name);
  CAPTURE(mesh);
  CAPTURE(layout);
  const std::string text = with_dataset(name) + layout;
  const Job job = job_of(text, mesh);
  const auto [keras, options] = recorded(name, text, mesh);
  const Trajectory ours = train(text, options);
  CHECK(keras.losses.size() == 10);
  CHECK(loss_difference(keras, ours) < tolerance.losses);
  CHECK(weight_difference(keras, ours) < tolerance.weights);
  for (const auto& [word, value] : ours.metrics) {
    const std::string& metric = word;  // clang 14 captures no structured binding in CHECK_MESSAGE
    // A prediction that is nearly another class's counts whole.
    if (metric == "loss" || (tolerance.losses > 1e-5 && metric == "accuracy")) continue;
    const auto steps = read_array(name, "metric/" + metric);
    const bool is_weighted = metric.starts_with("weighted_");
    const auto counts =
        is_weighted ? read_array(name, "weight_sums")
                    : batch_counts(steps.size(), job.split.samples, job.config.fit.batch_size);
    const double expected = mean_over(steps, counts);
    CHECK_MESSAGE(value == doctest::Approx(expected).epsilon(tolerance.losses), metric);
  }
}

}  // namespace

TEST_CASE("ten steps of every optimizer, loss and schedule are Keras's") {
  const auto names = fixture_names();
  CHECK(names.size() >= 60);
  for (const std::string& name : names) check_against_keras(name, "1x1");
}

TEST_CASE("they are Keras's on a mesh, too") {
  for (const std::string& name : fixture_names()) check_against_keras(name, "3x1");
}

TEST_CASE("ten steps under mixed_bfloat16 are Keras's but for rounding") {
  const auto names = fixture_names("mixed_bfloat16");
  CHECK(names.size() >= 7);
  for (const std::string& name : names) {
    check_against_keras(name, "1x1", "", kMixed);
    check_against_keras(name, "3x1", "", kMixed);
  }
}

TEST_CASE("ten steps under mixed_float16 are Keras's but for rounding, overflows included") {
  const auto names = fixture_names("mixed_float16");
  CHECK(names.size() >= 8);
  for (const std::string& name : names) {
    check_against_keras(name, "1x1", "", kMixedFloat16);
    check_against_keras(name, "3x1", "", kMixedFloat16);
  }
}

TEST_CASE("ten steps of transformers are Keras's") {
  const auto names = fixture_names("transformers");
  CHECK(names.size() >= 6);
  for (const std::string& name : names) check_against_keras(name, "1x1");
}

TEST_CASE("transformers are Keras's where heads, hidden units, tokens and steps are split") {
  const std::string split =
      "mesh: {data: 1, model: 1}\nstrategy: model_parallel\nunmatched_rules: ignore\nlayout_map:\n"
      "  '.*(query|key|value|gate|up|intermediate_dense)/kernel': [null, model]\n"
      "  '.*(attention_output|down|output_dense)/kernel': [model]\n"
      "  '.*embeddings': [model]\n  logits/kernel: [null, model]\n"
      "  '.*(sum1|sum2|norm2)/output': [data, model]\n";
  for (const std::string& name : fixture_names("transformers")) {
    for (const char* mesh : {"2x2", "1x3", "2x4"}) check_against_keras(name, mesh, split);
  }
}

TEST_CASE("mixed precision is nearer to Keras's than float32 is") {
  for (const std::string policy : {"mixed_bfloat16", "mixed_float16"}) {
    for (const std::string model : {"branches", "classifier", "normalized", "regressor"}) {
      const std::string name = policy + "/" + model;
      CAPTURE(name);
      const std::string text = with_dataset(name);
      const auto [keras, options] = recorded(name, text, "1x1");
      const std::string key = "precision: " + policy + "\n";
      REQUIRE(text.starts_with(key));
      const Trajectory mixed = train(text, options);
      const Trajectory wide = train(text.substr(key.size()), options);
      CHECK(loss_difference(keras, mixed) < loss_difference(keras, wide));
    }
  }
}

TEST_CASE("ten steps of convolutional networks are Keras's, moving statistics included") {
  const auto names = fixture_names("networks");
  CHECK(names.size() >= 7);
  for (const std::string& name : names) check_against_keras(name, "1x1");
}

TEST_CASE("convolutional networks are Keras's on a mesh, too") {
  for (const std::string& name : fixture_names("networks")) check_against_keras(name, "3x1");
}

TEST_CASE("regularizers are Keras's of variables that devices share") {
  check_against_keras("networks/regularized", "",
                      "mesh: {data: 1, model: 4}\nlayout_map:\n"
                      "  conv/kernel: [null, null, model]\n"
                      "  'attention/.*/kernel': [model, null, null]\n"
                      "  shared/kernel: [null, model]\n"
                      "  out/kernel: [model, null]\n");
  check_against_keras("networks/orthogonal", "",
                      "mesh: {data: 2, model: 3}\nlayout_map:\n"
                      "  hidden/kernel: [model, data]\n  out/kernel: [data, model]\n");
}

TEST_CASE("constraints are Keras's of variables that devices share") {
  const std::string split =
      "mesh: {data: 2, model: 2}\nlayout_map:\n"
      "  conv/kernel: [null, null, model]\n  conv/bias: [model]\n"
      "  'attention/.*/kernel': [model, null, null]\n"
      "  shared/kernel: [model, null]\n"
      "  out/kernel: [model, null]\n";
  check_against_keras("networks/constrained", "", split);
  check_against_keras("networks/constrained", "", split + "optimizer_layout: {'.*': [data]}\n");
}

TEST_CASE("Adafactor is Keras's where any dimensions of weights and state are split") {
  const std::string mesh = "mesh: {data: 2, model: 3}\nlayout_map:\n";
  const std::string rows =
      mesh +
      "  conv/kernel: [null, model]\n  attention/query/kernel: [model]\n"
      "  attention/attention_output/kernel: [null, model]\n  out/kernel: [model]\n";
  const std::string columns =
      mesh +
      "  conv/kernel: [data, null, model]\n  attention/value/kernel: [data, null, model]\n"
      "  attention/attention_output/kernel: [null, data, model]\n"
      "  out/kernel: [null, model]\n  out/bias: [model]\n";
  const std::string data_parallel = "mesh: {data: 4}\n";
  const std::string first = "optimizer_layout: {'.*': [data]}\n";
  const std::string second =
      "optimizer_layout: {'.*(conv|out|query)/kernel': [null, [data, model]]}\n";
  for (const std::string& layout :
       {rows, columns, rows + first, columns + second, data_parallel, data_parallel + first,
        data_parallel + "layout_map: {'.*': [data]}\n"}) {
    check_against_keras("networks/factored", "", layout);
  }
}

TEST_CASE("convolutional networks are Keras's where images are split in space") {
  const std::set<std::string> sequences{"networks/activities",  "networks/constrained",
                                        "networks/factored",    "networks/orthogonal",
                                        "networks/regularized", "networks/sequence"};
  for (const std::string& name : fixture_names("networks")) {
    const bool images = !sequences.contains(name);
    const std::string split = fmt::format(
        "strategy: model_parallel\nbatch_axis: data\nlayout_map:\n"
        "  input/output: [data, rows{}]\n",
        images ? ", columns, null" : ", null");
    const std::string mesh =
        images ? "mesh: {data: 1, rows: 3, columns: 2}\n" : "mesh: {data: 2, rows: 3}\n";
    check_against_keras(name, "", mesh + split);
  }
}
